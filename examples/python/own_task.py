"""A task of your own, in numpy, over a batch's arrays: a cart brings its pole upright and keeps it there.

    python examples/python/own_task.py
"""

import gymnasium
import manyworlds as mw
import numpy as np
from gymnasium.vector import AutoresetMode


class SwingUp(gymnasium.vector.VectorEnv):
    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, num_envs=1, max_episode_steps=500):
        self.num_envs, self.most = num_envs, max_episode_steps
        self.model = mw.load("cartpole")
        self.batch = mw.Batch(self.model, num_envs)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (5,))
        self.single_action_space = gymnasium.spaces.Box(-1, 1, (self.model.n_u,))
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.steps = np.zeros(num_envs, int)

    def observe(self):
        (x, angle), v = self.batch.q.T, self.batch.v
        return np.column_stack([x, np.sin(angle), np.cos(angle), v])

    def start(self, mask):
        q = np.tile(self.model.initial_q, (self.num_envs, 1))
        q[:, 1] += np.pi + self.np_random.uniform(-0.1, 0.1, self.num_envs)
        self.batch.set_state(q, np.zeros_like(self.batch.v), mask=mask)
        self.steps[mask] = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.start(np.ones(self.num_envs, bool))
        return self.observe(), {}

    def step(self, actions):
        self.batch.step(actions, steps=2)
        self.steps += 1
        seen = self.observe()
        rewards = seen[:, 2].astype(float) - 0.01 * np.square(actions).sum(axis=1)
        terminated, truncated = np.abs(seen[:, 0]) > 3, self.steps >= self.most
        over = terminated | truncated
        info = {"final_obs": seen.copy(), "_final_obs": over} if over.any() else {}
        if over.any():
            self.start(over)
            seen = self.observe()
        return seen, rewards, terminated, truncated, info


gymnasium.register("SwingUp-v0", vector_entry_point=SwingUp, max_episode_steps=500)

if __name__ == "__main__":
    envs = gymnasium.make_vec("SwingUp-v0", num_envs=64)
    seen, _ = envs.reset(seed=0)
    total, highest = 0.0, -1.0
    for _ in range(1000):
        # Pumps energy into the swing and leads the cart back to the middle.
        x, _, cosine, speed, turning = seen.T
        actions = np.clip(-0.3 * np.sign(turning * cosine) - 0.1 * (x + speed), -1, 1)[:, None]
        seen, rewards, terminated, truncated, info = envs.step(actions)
        total, highest = total + rewards.mean(), max(highest, seen[:, 2].max())
    print(f"mean reward of a step {total / 1000:.2f} (a pole that hangs: -1), highest {highest:.2f} (upright: 1)")
