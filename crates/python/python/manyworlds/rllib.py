"""An adapter for RLlib, Ray's library of reinforcement learning.

    from ray.rllib.algorithms.ppo import PPOConfig
    config = PPOConfig().environment("manyworlds/HalfCheetah-v0").env_runners(
        env_runner_cls=manyworlds.rllib.EnvRunner, num_env_runners=2, num_envs_per_env_runner=64)
    config.build_algo().train()
"""

try:
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner as _Base
except ImportError as error:
    raise ImportError("manyworlds.rllib needs RLlib: pip install 'ray[rllib]'") from error

from manyworlds import gymnasium  # noqa: F401 (a worker's process knows the environments)

__all__ = ["EnvRunner"]


class EnvRunner(_Base):
    """RLlib's runner for one agent, whose environments are one batch: `num_envs_per_env_runner` worlds, stepped together on the
    threads of `num_cpus_per_env_runner`. `env_config` are the environments' arguments.

    A runner that dies is replaced with `fault_tolerance(restart_failed_env_runners=True)`; RLlib counts what samples bring it, so
    the steps of one that is lost are not counted.
    """

    def make_env(self):
        settings = {"threads": max(1, int(self.config.num_cpus_per_env_runner)), **self.config.env_config}
        self.config.env_config = settings
        self.config.gym_env_vectorize_mode = "vector_entry_point"
        super().make_env()
