"""Policies that were trained and kept: examples/python/policies, played by examples/python/play.py."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium")

EXAMPLES = Path(__file__).parents[3] / "examples" / "python"

pytestmark = pytest.mark.filterwarnings("ignore")


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_humanoid_runs():
    player = example("play")
    policy = player.Policy(EXAMPLES / "policies" / "humanoid.npz")
    returns, _ = player.play(policy, episodes=8, executor="cpu")
    # 5 a step for not falling; what is beyond 5,000 is for the way that it runs in 15 s.
    assert returns.min() > 6000
    policy.layers = [(np.zeros_like(weight), np.zeros_like(bias)) for weight, bias in policy.layers]
    returns, _ = player.play(policy, episodes=8, executor="cpu")
    assert returns.max() < 1000


def test_the_humanoid_runs_in_mujoco_as_well():
    pytest.importorskip("mujoco")
    player = example("play")
    policy = player.Policy(EXAMPLES / "policies" / "humanoid.npz")
    returns, _ = player.play(policy, "gymnasium", episodes=8)
    # Now and then it falls there.
    assert np.median(returns) > 6000


def test_the_drawer_is_opened_by_friction():
    player = example("play")
    policy = player.Policy(EXAMPLES / "policies" / "drawer.npz")
    returns, last = player.play(policy, episodes=32, executor="cpu")
    # All the way, 0.3 m, in every episode.
    assert last["opening"].min() > 0.299
    assert returns.min() > 140
    # With another network it stays shut.
    policy.layers = [(np.zeros_like(weight), np.zeros_like(bias)) for weight, bias in policy.layers]
    returns, last = player.play(policy, episodes=4, executor="cpu")
    assert last["opening"].max() < 0.01 and returns.max() < 10
