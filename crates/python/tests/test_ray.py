"""Many workers by Ray, on a cluster of two on this machine, where Ray is installed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import manyworlds as mw
import pytest

ray = pytest.importorskip("ray", reason="ray is not installed: rollouts and mw.rllib are NOT tested")

EXAMPLE = Path(__file__).parents[3] / "examples" / "python" / "ray_rollouts.py"


def rollouts(*arguments):
    command = [sys.executable, str(EXAMPLE), "--workers", "2", "--num-envs", "16", "--pieces", "9", "--steps", "60", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_rollouts_go_on_when_a_worker_is_killed_and_count_nothing_twice():
    whole, killed = rollouts(), rollouts("--kill")
    assert whole["lost"] == 0 and killed["lost"] == 1
    assert killed["pieces"] == whole["pieces"] == list(range(9))
    assert killed["steps"] == whole["steps"] == 9 * 60 * 16
    # A piece is the same whoever does it.
    assert killed["rewards"] == whole["rewards"] != 0


def test_rllib_learns_on_two_workers_and_goes_on_when_one_is_killed():
    pytest.importorskip("ray.rllib", reason="ray[rllib] is not installed: mw.rllib is NOT tested")
    pytest.importorskip("torch", reason="torch is not installed: mw.rllib is NOT tested")
    from ray.rllib.algorithms.ppo import PPOConfig

    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        config = PPOConfig().environment("manyworlds/Hopper-v0", env_config={"executor": "cpu"})
        config.env_runners(
            env_runner_cls=mw.rllib.EnvRunner,
            num_env_runners=2,
            num_envs_per_env_runner=16,
            rollout_fragment_length=32,
        )
        config.training(train_batch_size_per_learner=1024, num_epochs=1, minibatch_size=256)
        config.learners(num_learners=0, num_cpus_per_learner=0)
        config.fault_tolerance(restart_failed_env_runners=True)
        algorithm = config.build_algo()
        kinds = algorithm.env_runner_group.foreach_env_runner(
            lambda runner: (type(runner.env.unwrapped).__name__, runner.num_envs, os.getpid()), local_env_runner=False
        )
        assert [kind[:2] for kind in kinds] == [("VectorEnv", 16)] * 2 and kinds[0][2] != kinds[1][2]
        totals = []
        for iteration in range(3):
            if iteration == 1:
                os.kill(kinds[0][2], signal.SIGKILL)
            found = algorithm.train()["env_runners"]
            totals.append(found["num_env_steps_sampled_lifetime"])
            # What is counted in all is what each iteration brought, and each brings a batch.
            assert 1024 <= found["num_env_steps_sampled"] < 2048
            assert totals[-1] == (totals[-2] if iteration else 0) + found["num_env_steps_sampled"]
        assert found["episode_return_mean"] > 0
        algorithm.stop()
    finally:
        ray.shutdown()
