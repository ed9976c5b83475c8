"""An adapter for stable-baselines3.

    from stable_baselines3 import PPO
    model = PPO("MlpPolicy", manyworlds.sb3.VecEnv("HalfCheetah", 64))
"""

try:
    from stable_baselines3.common.vec_env import VecEnv as _Base
except ImportError as error:
    raise ImportError("manyworlds.sb3 needs stable-baselines3: pip install stable-baselines3") from error
import numpy as np
from gymnasium.vector import AutoresetMode

from manyworlds.gymnasium import VectorEnv

__all__ = ["VecEnv"]


class VecEnv(_Base):
    """`manyworlds.gymnasium.VectorEnv` as stable-baselines3 wants it: `VecEnv(task, num_envs, **settings)`.

    An environment whose episode is over starts the next one at once; what it saw last is in its info's
    "terminal_observation", and "TimeLimit.truncated" says whether only the time was over.
    """

    def __init__(self, task, num_envs, max_episode_steps=None, **settings):
        self.environments = VectorEnv(
            task, num_envs, max_episode_steps, autoreset_mode=AutoresetMode.SAME_STEP, **settings
        )
        spaces = self.environments.single_observation_space, self.environments.single_action_space
        self._actions = None
        super().__init__(num_envs, *spaces)

    def reset(self):
        seeds = [seed for seed in self._seeds if seed is not None]
        self._reset_seeds()
        return self.environments.reset(seed=seeds[0] if seeds else None)[0]

    def step_async(self, actions):
        self._actions = actions

    def step_wait(self):
        seen, rewards, terminated, truncated, info = self.environments.step(self._actions)
        over = terminated | truncated
        infos = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(over):
            infos[i] = {
                "terminal_observation": info["final_obs"][i],
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
            }
        return seen, rewards.astype(np.float32), over, infos

    def close(self):
        self.environments.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.environments, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name, value, indices=None):
        raise NotImplementedError("the environments are one object: set what it has on `environments`")

    def env_method(self, method_name, *arguments, indices=None, **settings):
        raise NotImplementedError("the environments are one object: call it on `environments`")

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * len(list(self._get_indices(indices)))
