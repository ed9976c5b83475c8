"""Gymnasium's environments: the tasks of its MuJoCo environments, version 5, with this simulator's contact, and four of our own:
"Pinch", "Drawer" and "NutTurning", on which soft contact cheats, and "Quadruped", a robot that walks as it is told.

    import gymnasium
    import manyworlds
    envs = gymnasium.make_vec("manyworlds/Ant-v0", num_envs=256, vectorization_mode="vector_entry_point")
    env = gymnasium.make("manyworlds/Ant-v0")

Of those that Gymnasium has, too, observations, rewards, terminations, frame skip and distributions of starts are its own; the
numbers of a seed are not, as the generator is another. They take Gymnasium's arguments, each those that it has there:
`forward_reward_weight`, `ctrl_cost_weight`, `contact_cost_weight`, `contact_cost_range`, `contact_force_range`, `healthy_reward`,
`terminate_when_unhealthy`, `healthy_z_range`, `healthy_angle_range`, `healthy_state_range`, `reset_noise_scale`,
`exclude_current_positions_from_observation`, `include_cinert_in_observation`, `include_cvel_in_observation`,
`include_qfrc_actuator_in_observation`, `include_cfrc_ext_in_observation`, `reward_dist_weight`, `reward_near_weight`,
`reward_control_weight`, `frame_skip`; not `xml_file`, `main_body` and `default_camera_config`, which are refused.

Settings beside Gymnasium's own: `precision` ("f32", and with it float32 observations, or "f64"), `executor`, `threads`, `solver`,
`tolerance`, `integrator`, `dt`, as of `manyworlds.Batch`. "Quadruped" also has `randomize` (False: all worlds are alike) and
`roughness` (of the ground, m). With
`render_mode="rgb_array"` `render()` gives pictures, arrays `(height, width, 3)` of uint8, of size `width` and `height`, from a
camera that goes along with the robot or the one of the file that `camera_name` names.
"""

import functools

try:
    import gymnasium
except ImportError as error:
    raise ImportError("manyworlds.gymnasium needs Gymnasium: pip install gymnasium") from error
import numpy as np
from gymnasium.vector import AutoresetMode

from manyworlds import _core

__all__ = ["Env", "VectorEnv"]


_RENDER_MODES = ["rgb_array"]


class _Pictures:
    """How environments are drawn."""

    def __init__(self, core, mode, width, height, camera_name):
        if mode is not None and mode not in _RENDER_MODES:
            raise ValueError(f"render_mode: expected None or \"rgb_array\", found {mode!r}")
        self._core, self._view = core, (camera_name, width, height)

    def draw(self, environments):
        return self._core.render(environments, *self._view)


def _spaces(core, precision):
    low, high = core.action_range.astype(np.float32).T
    real = np.float32 if precision == "f32" else np.float64
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (core.n_observation,), real)
    return seen, gymnasium.spaces.Box(low, high, dtype=np.float32)


class VectorEnv(gymnasium.vector.VectorEnv):
    """Environments of one task, all stepped together.

    autoreset_mode: when an environment whose episode is over starts the next one: in the step after (the default), in the
    same step (what it saw last is then in `info["final_obs"]`), or when `reset(options={"reset_mask": mask})` says so.
    """

    metadata = {"render_modes": _RENDER_MODES, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        task,
        num_envs=1,
        max_episode_steps=None,
        render_mode=None,
        autoreset_mode=AutoresetMode.NEXT_STEP,
        precision="f32",
        executor="auto",
        threads=None,
        width=480,
        height=480,
        camera_name=None,
        **settings,
    ):
        mode = AutoresetMode(autoreset_mode)
        self._core = _core.Environments(
            task, num_envs, mode.value, executor, precision, threads, max_episode_steps, **settings
        )
        self._pictures = _Pictures(self._core, render_mode, width, height, camera_name)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "autoreset_mode": mode, "render_fps": round(1 / self._core.dt)}
        self.single_observation_space, self.single_action_space = _spaces(self._core, precision)
        batched = functools.partial(gymnasium.vector.utils.batch_space, n=num_envs)
        self.observation_space = batched(self.single_observation_space)
        self.action_space = batched(self.single_action_space)
        self._observations = None

    @property
    def dt(self):
        """Time of one step, s."""
        return self._core.dt

    @property
    def max_episode_steps(self):
        """Steps after which an episode is cut off."""
        return self._core.max_episode_steps

    @property
    def ages(self):
        """Steps that each environment's episode is old, `(num_envs,)`. A copy."""
        return self._core.ages

    def set_ages(self, ages):
        """Makes episodes as old as `ages` says, `(num_envs,)`, so that not all are cut off in the same step."""
        self._core.set_ages([int(age) for age in ages])

    @property
    def state(self):
        """Positions `(num_envs, n_q)` and velocities `(num_envs, n_v)`, in MuJoCo's conventions."""
        return self._core.state

    def set_state(self, q, v):
        """Puts all environments into states, at the start of an episode; gives their observations."""
        self._observations = self._core.set_state(q, v)
        return self._observations.copy()

    def set_parameter(self, parameter, of, values, environments=None):
        """Gives environments a parameter of their own, as `manyworlds.Batch.set_parameter`: domain randomisation."""
        self._core.set_parameter(parameter, of, values, environments)

    @property
    def goals(self):
        """What environments are told to do, `(num_envs, n_goal)`: of "Quadruped" the commands, of most tasks nothing. A copy."""
        return self._core.goals

    def set_goals(self, goals):
        """Gives all environments goals for the rest of their episodes; observations show them from the next step on."""
        self._core.set_goals(goals)

    def reset(self, *, seed=None, options=None):
        """Starts episodes: with `seed`, environment i from `seed + i`; `options={"reset_mask": mask}`: only these."""
        if isinstance(seed, (list, tuple)):
            raise TypeError("seed: expected one number, environment i has seed + i; found a list")
        if seed is None and self._observations is None:
            # Gymnasium's generator draws the first seeds where nobody gives any.
            seed = int(self.np_random.integers(2**31))
        mask = (options or {}).get("reset_mask")
        if mask is not None and not (isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.any()):
            raise TypeError("options['reset_mask']: expected a numpy array of bool with at least one True")
        self._observations = self._core.reset(mask, seed, self._observations)
        return self._observations.copy(), {}

    def step(self, actions):
        """Steps all environments: actions `(num_envs, n_action)`."""
        if self._observations is None:
            raise gymnasium.error.ResetNeeded("reset comes before the first step")
        seen, rewards, terminated, truncated, failed, info, last = self._core.step(actions)
        # A reset by mask gives those of the other environments again.
        self._observations = seen.copy()
        if failed.any():
            info["failed"] = failed
        over = terminated | truncated
        if last is not None and over.any():
            info = {"final_obs": last, "_final_obs": over, "final_info": info, "_final_info": over}
        return seen, rewards, terminated, truncated, info

    def render(self):
        """Pictures of all environments, a tuple of arrays; None without a `render_mode`."""
        return None if self.render_mode is None else tuple(self._pictures.draw(list(range(self.num_envs))))


class Env(gymnasium.Env):
    """One environment. Learning wants many at once: `VectorEnv`."""

    metadata = {"render_modes": _RENDER_MODES}

    def __init__(
        self,
        task,
        render_mode=None,
        precision="f32",
        executor="cpu",
        threads=1,
        width=480,
        height=480,
        camera_name=None,
        **settings,
    ):
        # Time is Gymnasium's wrapper's to limit.
        self._core = _core.Environments(task, 1, "Disabled", executor, precision, threads, 2**32 - 1, **settings)
        self._pictures = _Pictures(self._core, render_mode, width, height, camera_name)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": round(1 / self._core.dt)}
        self.observation_space, self.action_space = _spaces(self._core, precision)

    @property
    def dt(self):
        """Time of one step, s."""
        return self._core.dt

    def set_state(self, q, v):
        """Puts the environment into a state, at the start of an episode; gives its observation."""
        return self._core.set_state([q], [v])[0]

    @property
    def goal(self):
        """What the environment is told to do, `(n_goal,)`: of "Quadruped" the command. A copy."""
        return self._core.goals[0]

    def set_goal(self, goal):
        """Gives a goal for the rest of the episode; the observation shows it from the next step on."""
        self._core.set_goals([goal])

    def reset(self, *, seed=None, options=None):
        """Starts an episode."""
        super().reset(seed=seed)
        return self._core.reset(None, int(self.np_random.integers(2**31)))[0], {}

    def step(self, action):
        """Steps the environment."""
        seen, rewards, terminated, _, failed, info, _ = self._core.step(np.asarray(action)[None])
        info = {name: float(numbers[0]) for name, numbers in info.items()}
        if failed[0]:
            info["failed"] = True
        return seen[0], float(rewards[0]), bool(terminated[0]), False, info

    def render(self):
        """A picture, an array; None without a `render_mode`."""
        return None if self.render_mode is None else self._pictures.draw([0])[0]


def register():
    """Makes `gymnasium.make("manyworlds/...")` know the tasks; importing `manyworlds` does it."""
    for task, steps in _core.Environments.tasks():
        name = f"manyworlds/{task}-v0"
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="manyworlds.gymnasium:Env",
                vector_entry_point="manyworlds.gymnasium:VectorEnv",
                max_episode_steps=steps,
                kwargs={"task": task},
            )
