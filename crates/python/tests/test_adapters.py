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


def rsl_rl_or_skip():
    return pytest.importorskip("rsl_rl", reason="rsl-rl-lib is not installed: mw.rsl_rl is NOT tested")


def test_rsl_rl_s_interface():
    """What `rsl_rl.env.VecEnv` says of its parts, and that these are the numbers of the vector environment."""
    rsl_rl_or_skip()
    import torch
    from gymnasium.vector import AutoresetMode
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict

    settings = {"executor": "cpu", "max_episode_steps": 22}
    envs = mw.rsl_rl.VecEnv("Hopper", 8, seed=3, **settings)
    assert isinstance(envs, VecEnv)
    # All that the interface declares is there.
    declared = [name for name in VecEnv.__annotations__] + ["get_observations", "step"]
    assert len(declared) >= 8 and all(hasattr(envs, name) for name in declared)
    assert (envs.num_envs, envs.num_actions, envs.max_episode_length, envs.step_dt) == (8, 3, 22, 0.008)
    assert envs.cfg["task"] == "Hopper"
    plain = mw.gymnasium.VectorEnv("Hopper", 8, autoreset_mode=AutoresetMode.SAME_STEP, **settings)
    first, _ = plain.reset(seed=3)
    seen = envs.get_observations()
    assert isinstance(seen, TensorDict) and seen.batch_size == torch.Size([8])
    assert torch.equal(seen["policy"], torch.from_numpy(first))
    rng = np.random.default_rng(0)
    lost = cut = 0
    for _ in range(60):
        action = rng.uniform(-1.5, 1.5, (8, 3)).astype(np.float32)
        seen, rewards, dones, extras = envs.step(torch.from_numpy(action))
        # A hopper's actions go from -1 to 1 themselves.
        expected, reward, terminated, truncated, info = plain.step(action.clip(-1, 1))
        assert torch.equal(seen["policy"], torch.from_numpy(expected))
        assert rewards.dtype == torch.float32 and rewards.shape == (8,) and dones.shape == (8,)
        assert np.array_equal(rewards.numpy(), reward.astype(np.float32))
        assert np.array_equal(dones.numpy() > 0, terminated | truncated)
        assert np.array_equal(extras["time_outs"].numpy(), truncated & ~terminated)
        info = info.get("final_info", info)
        assert extras["log"]["/reward_forward"] == pytest.approx(info["reward_forward"].mean())
        assert (envs.episode_length_buf[dones > 0] == 0).all()
        lost, cut = lost + terminated.sum(), cut + (truncated & ~terminated).sum()
    assert lost and cut


def test_rsl_rl_s_ages_and_actions():
    rsl_rl_or_skip()
    import torch

    envs = mw.rsl_rl.VecEnv("Quadruped", 4, max_episode_steps=50, seed=0, executor="cpu")
    envs.episode_length_buf = torch.tensor([0, 10, 47, 48])
    done = []
    for _ in range(3):
        _, _, dones, extras = envs.step(torch.zeros(4, 12))
        assert torch.equal(dones > 0, extras["time_outs"])
        done.append(dones.tolist())
    assert done == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert envs.episode_length_buf.tolist() == [3, 13, 0, 1]
    # One is the end of a servo's range, half a radian; the observation shows the last action.
    seen, *_ = envs.step(torch.tensor([0.0, 0.5, 1.0, -3.0])[:, None].expand(4, 12))
    assert torch.allclose(seen["policy"][:, 36], torch.tensor([0, 0.25, 0.5, -0.5]))
    with pytest.raises(ValueError, match="-1"):
        envs.episode_length_buf = torch.tensor([0, 0, 0, -1])
    with pytest.raises(ValueError, match="ages"):
        envs.episode_length_buf = torch.tensor([0, 0])
    with pytest.raises(ValueError, match="precision"):
        mw.rsl_rl.VecEnv("Hopper", 2, precision="f64")


def test_rsl_rl_learns():
    """Its runner goes round, with episodes of random ages, and what it learns on changes."""
    rsl_rl_or_skip()
    import torch
    from rsl_rl.runners import OnPolicyRunner

    envs = mw.rsl_rl.VecEnv("Quadruped", 16, seed=0, executor="cpu")
    network = {"class_name": "MLPModel", "hidden_dims": [32], "activation": "elu", "obs_normalization": True}
    noise = {"class_name": "GaussianDistribution", "init_std": 0.5}
    runner = OnPolicyRunner(
        envs,
        {
            "num_steps_per_env": 8,
            "save_interval": 100,
            "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
            "actor": {**network, "distribution_cfg": noise},
            "critic": network,
            "algorithm": {"class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2},
        },
        log_dir=None,
        device="cpu",
    )
    before = [p.clone() for p in runner.alg.actor.parameters()]
    runner.learn(3, init_at_random_ep_len=True)
    changed = [not torch.equal(p, q) for p, q in zip(before, runner.alg.actor.parameters())]
    assert sum(changed) >= 4 and all(torch.isfinite(p).all() for p in runner.alg.actor.parameters())
    assert envs.episode_length_buf.max() > 24
