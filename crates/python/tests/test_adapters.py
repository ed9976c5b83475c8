"""Adapters to libraries of learning, where these are installed."""

import manyworlds as mw
import numpy as np
import pytest


def test_stable_baselines3():
    reason = "stable-baselines3 is not installed: mw.sb3 is NOT tested"
    sb3 = pytest.importorskip("stable_baselines3", reason=reason)
    envs = mw.sb3.VecEnv("Hopper", 8, max_episode_steps=22, executor="cpu")
    envs.seed(3)
    seen = envs.reset()
    assert seen.shape == (8, 11) and envs.get_attr("dt") == [0.008] * 8
    rng = np.random.default_rng(0)
    lost = cut = 0
    for _ in range(60):
        seen, rewards, over, infos = envs.step(rng.uniform(-1, 1, (8, 3)).astype(np.float32))
        assert rewards.dtype == np.float32
        for i in range(8):
            assert ("terminal_observation" in infos[i]) == over[i]
            if over[i]:
                lost, cut = lost + (not infos[i]["TimeLimit.truncated"]), cut + infos[i]["TimeLimit.truncated"]
                assert not np.array_equal(infos[i]["terminal_observation"], seen[i])
    assert lost and cut
    # It learns on it: the data of two updates.
    learner = sb3.PPO("MlpPolicy", envs, n_steps=32, batch_size=64, n_epochs=2, device="cpu")
    learner.learn(512)
    assert learner.num_timesteps == 512
