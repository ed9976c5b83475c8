"""An adapter for rsl_rl, ETH's library for learning to walk.

    from rsl_rl.runners import OnPolicyRunner
    runner = OnPolicyRunner(manyworlds.rsl_rl.VecEnv("Quadruped", 4096), settings, log_dir=None, device="cpu")
"""

try:
    import torch
    from rsl_rl.env import VecEnv as _Base
    from tensordict import TensorDict
except ImportError as error:
    raise ImportError("manyworlds.rsl_rl needs rsl_rl, 3 or newer: pip install rsl-rl-lib") from error
import numpy as np
from gymnasium.vector import AutoresetMode

from manyworlds.gymnasium import VectorEnv

__all__ = ["VecEnv"]


class VecEnv(_Base):
    """`manyworlds.gymnasium.VectorEnv` as rsl_rl wants it: `VecEnv(task, num_envs, seed=None, device="cpu", **settings)`.

    Observations, float32 `(num_envs, n)`, are the group "policy". Actions go from -1 to 1 over the range of each of the task's; what
    is beyond is clipped. An environment whose episode is over starts the next one at once; `extras["time_outs"]` says whether only
    the time was over, `extras["log"]` has the means of the numbers that the task tells beside its reward.
    """

    def __init__(self, task, num_envs, max_episode_steps=None, seed=None, device="cpu", **settings):
        if settings.get("precision", "f32") != "f32":
            raise ValueError(f"precision: rsl_rl's networks are float32, found {settings['precision']!r}")
        self.environments = VectorEnv(
            task, num_envs, max_episode_steps, autoreset_mode=AutoresetMode.SAME_STEP, **settings
        )
        space = self.environments.single_action_space
        bounded = np.isfinite(space.low) & np.isfinite(space.high)
        if not bounded.all():
            raise ValueError(f"{task}: action {np.argmin(bounded)} has no bounds that -1 and 1 could stand for")
        self._middle, self._half = (space.high + space.low) / 2, (space.high - space.low) / 2
        self.num_envs, self.num_actions, self.device = num_envs, space.shape[0], device
        self.max_episode_length = self.environments.max_episode_steps
        self.cfg = {"task": task, "num_envs": num_envs, "max_episode_steps": self.max_episode_length, **settings}
        self._seen = self.environments.reset(seed=seed)[0]

    @property
    def unwrapped(self):
        """Itself."""
        return self

    @property
    def step_dt(self):
        """Time of one step, s."""
        return self.environments.dt

    @property
    def episode_length_buf(self):
        """Steps that each episode is old, int64 `(num_envs,)`. What is assigned counts; writing into the tensor does not."""
        return torch.from_numpy(self.environments.ages).to(self.device)

    @episode_length_buf.setter
    def episode_length_buf(self, ages):
        self.environments.set_ages(ages.tolist())

    def get_observations(self):
        """What all environments see now."""
        return TensorDict({"policy": torch.from_numpy(self._seen).to(self.device)}, batch_size=[self.num_envs])

    def step(self, actions):
        """Steps all environments: actions `(num_envs, num_actions)`; gives observations, rewards, dones and extras."""
        chosen = self._middle + self._half * np.clip(actions.detach().cpu().numpy(), -1, 1)
        self._seen, rewards, terminated, truncated, info = self.environments.step(chosen.astype(np.float32))
        info = info.get("final_info", info)
        there = {name: numbers for name, numbers in info.items() if name != "failed"}
        extras = {
            "time_outs": torch.from_numpy(truncated & ~terminated).to(self.device),
            "log": {f"/{name}": float(numbers.mean()) for name, numbers in there.items()},
        }
        dones = torch.from_numpy(terminated | truncated).to(self.device, torch.long)
        return self.get_observations(), torch.from_numpy(rewards).to(self.device, torch.float32), dones, extras

    def close(self):
        self.environments.close()
