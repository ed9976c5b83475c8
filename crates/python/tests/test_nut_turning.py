"""The environment NutTurning: what it shows and rewards, recomputed here in numpy from states."""

import manyworlds  # noqa: F401 (registers the environments)
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

N = 4
TURN, PITCH, HOME = 2 * np.pi, 0.005, 0.0075
pytestmark = pytest.mark.filterwarnings("ignore")


def make(num_envs=N, **settings):
    settings = {"executor": "cpu", "precision": "f64", **settings}
    name = "manyworlds/NutTurning-v0"
    return gymnasium.make_vec(name, num_envs=num_envs, vectorization_mode="vector_entry_point", **settings)


def angle(q):
    """Of the nut about the bolt, rad, up to whole turns."""
    return 2 * np.arctan2(q[:, 11], q[:, 8])


def stroke(step):
    """Back with open fingers, close, turn: wrist and grip of a step."""
    phase = step % 45
    return (1.0, -5.0) if phase < 12 else (1.0, 20.0) if phase < 20 else (-1.0, 20.0)


def test_observations_and_rewards_are_those_of_the_states():
    envs = make(max_episode_steps=1000)
    seen, _ = envs.reset(seed=2)
    own = envs.unwrapped
    q, v = own.state
    # A thread: the angle that is left is by the height, a pitch a turn.
    left = (q[:, 7] - HOME) / PITCH * TURN
    assert seen[:, 6] == pytest.approx(left, abs=1e-9) and (left > 2 * TURN).all() and (left < 3 * TURN).all()
    assert np.ptp(left) > 1
    for step in range(90):
        action = np.tile(stroke(step), (N, 1))
        before = angle(q)
        seen, rewards, terminated, _, info = envs.step(action)
        assert not terminated.any()
        q, v = own.state
        # The nut turns by less than half a turn a step; steps are added up.
        turned = (angle(q) - before + np.pi) % TURN - np.pi
        left = left + turned
        expected = np.hstack([q[:, :5], q[:, 7:8] - HOME, left[:, None], v])
        assert seen == pytest.approx(expected, abs=1e-8)
        turning, force = -turned / own.dt, -0.02 * abs(action[:, 1])
        assert info["reward_turning"] == pytest.approx(turning, abs=1e-7)
        assert info["reward_force"] == pytest.approx(force, abs=1e-12)
        assert rewards == pytest.approx(turning + force, abs=1e-7)
        assert np.abs(left / TURN * PITCH - (q[:, 7] - HOME)).max() < 2e-4
    # Two strokes of almost two radians.
    assert (np.abs(left - (info["angle_left"])) < 1e-8).all() and (seen[:, 6] < 3 * TURN - 2).all()


def test_an_episode_ends_when_the_nut_is_home():
    envs = make(autoreset_mode=AutoresetMode.SAME_STEP, max_episode_steps=1000)
    envs.reset(seed=2)
    ended = np.zeros(N, bool)
    for step in range(600):
        seen, _, terminated, _, info = envs.step(np.tile(stroke(step), (N, 1)))
        if terminated.any():
            last = info["final_obs"][terminated]
            assert (last[:, 5] < 1e-4).all() and (np.abs(last[:, 6]) < 0.3).all()
            # The next one starts two turns or more above.
            assert (seen[terminated, 6] > 2 * TURN).all()
        else:
            assert "final_obs" not in info
        ended |= terminated
        if ended.all():
            break
    assert ended.all()


def test_reset_by_mask_leaves_the_others_alone():
    both = [make(autoreset_mode=AutoresetMode.DISABLED) for _ in range(2)]
    for envs in both:
        envs.reset(seed=0)
        for step in range(20):
            envs.step(np.tile(stroke(step), (N, 1)))
    mask = np.array([False, True, False, True])
    both[0].reset(options={"reset_mask": mask})
    a, b = (envs.step(np.tile([0.5, 5.0], (N, 1)))[0] for envs in both)
    assert np.array_equal(a[~mask], b[~mask]) and (np.abs(a[mask] - b[mask]).max(axis=1) > 0.01).all()


def test_a_seed_gives_the_same_again_whatever_the_threads():
    def play(threads):
        envs = make(16, threads=threads)
        first, _ = envs.reset(seed=5)
        return np.stack([first] + [envs.step(np.tile(stroke(step), (16, 1)))[0] for step in range(40)])

    one = play(1)
    assert np.array_equal(one, play(1)) and np.array_equal(one, play(2))
    assert len(np.unique(one[0, :, 6])) == 16


def test_next_step_autoreset_and_time_limit():
    envs = make(max_episode_steps=3)
    envs.reset(seed=0)
    assert [envs.step(np.zeros((N, 2)))[3].all() for _ in range(7)] == [False, False, True, False, False, False, True]


def test_gymnasium_s_rules_are_kept():
    check_env(gymnasium.make("manyworlds/NutTurning-v0").unwrapped, skip_render_check=True)
