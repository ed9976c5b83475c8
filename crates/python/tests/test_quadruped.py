"""The environment Quadruped: what it shows, rewards, ends and draws, recomputed here in numpy from states."""

import manyworlds as mw
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

# Height of the trunk of a robot that stands, m.
N, JOINTS, STANDING = 6, 12, 0.303
pytestmark = pytest.mark.filterwarnings("ignore")


def make(num_envs=N, **settings):
    settings = {"executor": "cpu", "precision": "f64", **settings}
    name = "manyworlds/Quadruped-v0"
    return gymnasium.make_vec(name, num_envs=num_envs, vectorization_mode="vector_entry_point", **settings)


def turned(q):
    """Rotation matrices of quaternions (w, x, y, z), from the trunk to the world."""
    w, x, y, z = q.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def expected_before_scan(q, v, command, action):
    r = turned(q[:, 3:7])
    return np.hstack(
        [np.einsum("nji,nj->ni", r, v[:, :3]), v[:, 3:6], r[:, 2], command, q[:, 7:], v[:, 6:], action]
    )


def expected_rewards(q, v, command, action, before, gain):
    r = turned(q[:, 3:7])
    linear, angular = np.einsum("nji,nj->ni", r, v[:, :3]), v[:, 3:6]
    servo = gain[:, None] * (100 * np.clip(action, -0.5, 0.5) - 100 * q[:, 7:] - 2 * v[:, 6:])
    return {
        "reward_linear": np.exp(-((command[:, :2] - linear[:, :2]) ** 2).sum(axis=1) / 0.25),
        "reward_angular": 0.5 * np.exp(-((command[:, 2] - angular[:, 2]) ** 2) / 0.25),
        "reward_survive": np.full(len(q), 0.5),
        "reward_bounce": -2 * linear[:, 2] ** 2,
        "reward_sway": -0.05 * (angular[:, :2] ** 2).sum(axis=1),
        "reward_effort": -2e-4 * (np.clip(servo, -33.5, 33.5) ** 2).sum(axis=1),
        "reward_change": -0.1 * ((action - before) ** 2).sum(axis=1),
    }


def test_observations_and_rewards_are_those_of_the_states():
    envs = make()
    seen, _ = envs.reset(seed=4)
    own = envs.unwrapped
    command = own.goals
    rng = np.random.default_rng(0)
    before = np.zeros((N, JOINTS))
    assert seen[:, :48] == pytest.approx(expected_before_scan(*own.state, command, before), abs=1e-9)
    for _ in range(15):
        action = rng.uniform(-0.7, 0.7, (N, JOINTS))
        seen, rewards, terminated, _, info = envs.step(action)
        assert not terminated.any()
        q, v = own.state
        assert seen[:, :48] == pytest.approx(expected_before_scan(q, v, command, action), abs=1e-9)
        parts = expected_rewards(q, v, command, action, before, info["gain_scale"])
        for name, part in parts.items():
            assert info[name] == pytest.approx(part, abs=1e-9), name
        assert rewards == pytest.approx(sum(parts.values()), abs=1e-9)
        before = action
    # Another state's are not: the comparison can fail.
    assert np.abs(seen[:, :48] - expected_before_scan(q, v, command, action + 1e-6)).max() > 1e-7
    assert np.abs(info["reward_effort"] - expected_rewards(q, v, command, action, before, 1.01 * info["gain_scale"])["reward_effort"]).max() > 1e-5


def feet(q):
    """Where the middles of the feet are, `(N, 4, 3)`, by the dimensions of the robot."""

    def about(axis, angle):
        c, s, r = np.cos(angle), np.sin(angle), np.zeros((len(angle), 3, 3))
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        r[:, axis, axis], r[:, i, i], r[:, j, j], r[:, i, j], r[:, j, i] = 1, c, c, -s, s
        return r

    found = []
    for leg, (front, left) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        abduction, flexion, knee = q[:, 7 + 3 * leg : 10 + 3 * leg].T
        hip = turned(q[:, 3:7]) @ about(0, abduction)
        thigh = hip @ about(1, np.pi / 4 + flexion)
        calf = thigh @ about(1, -np.pi / 2 + knee)
        place = q[:, :3] + turned(q[:, 3:7]) @ [0.1805 * front, 0.047 * left, 0]
        found.append(place + hip @ [0, 0.0838 * left, 0] - 0.2 * (thigh[:, :, 2] + calf[:, :, 2]))
    return np.stack(found, axis=1)


def ground(envs, places):
    """Height of the ground as observations show it, at `(N, 2)` places."""
    q, v = np.zeros((N, 19)), np.zeros((N, 18))
    q[:, :2], q[:, 2], q[:, 3] = places, 1, 1
    return 1 - envs.unwrapped.set_state(q, v)[:, 48 + 17]


def test_the_ground_is_seen_where_feet_meet_it():
    envs = make(tolerance=1e-10)
    envs.reset(seed=1)
    for _ in range(100):
        envs.step(np.zeros((N, JOINTS)))
    stood = feet(envs.unwrapped.state[0])

    def gaps(aside):
        heights = [ground(envs, stood[:, leg, :2] + aside) for leg in range(4)]
        return stood[:, :, 2] - 0.02 - np.stack(heights, axis=1)

    # Straight down it is a little more than to the nearest point where the ground is steep. Three feet of each stand.
    found = gaps(0)
    assert ((-1e-4 < found) & (found < 2e-3)).sum() >= 3 * N and found.min() > -1e-4
    assert np.abs(gaps(0.3)).max() > 5e-3


def test_the_ground_around_turns_with_the_robot():
    flat, rough = make(roughness=0), make(roughness=0.3)
    q, v = np.zeros((N, 19)), np.zeros((N, 18))
    rng = np.random.default_rng(0)
    q[:, :2], q[:, 2], q[:, 3] = rng.uniform(-20, 20, (N, 2)), 0.8, 1

    def scan(envs, quaternion):
        q[:, 3:7] = quaternion
        return envs.unwrapped.set_state(q, v)[:, 48:].reshape(N, 7, 5)

    straight, quarter = [1, 0, 0, 0], [np.cos(np.pi / 4), 0, 0, np.sin(np.pi / 4)]
    assert scan(flat, straight) == pytest.approx(np.full((N, 7, 5), 0.8), abs=1e-12)
    a, b = scan(rough, quarter)[:, 1:6], scan(rough, straight)[:, 1:6]
    assert np.ptp(b, axis=(1, 2)).min() > 0.01
    # What was along is across.
    assert a == pytest.approx(np.swapaxes(b[:, ::-1], 1, 2), abs=1e-9)
    # Leaning changes nothing of where it looks.
    lean = [np.cos(0.1), np.sin(0.1), 0, 0]
    assert scan(rough, lean)[:, 1:6] == pytest.approx(b, abs=1e-12)


def test_each_episode_draws_a_command_and_a_world():
    envs = make(400)
    first, _ = envs.reset(seed=7)
    commands = envs.unwrapped.goals
    assert np.array_equal(first[:, 9:12], commands)
    most = np.array([1, 0.5, 1])
    walking = commands.any(axis=1)
    assert 0.05 < 1 - walking.mean() < 0.16
    assert (np.abs(commands) <= most).all()
    assert commands[walking].mean(axis=0) == pytest.approx(np.zeros(3), abs=0.1)
    assert commands[walking].std(axis=0) == pytest.approx(most / 3**0.5, rel=0.1)
    *_, info = envs.step(np.zeros((400, JOINTS)))
    for name, low, high in [("friction", 0.4, 1.2), ("mass_scale", 0.8, 1.4), ("gain_scale", 0.8, 1.2)]:
        drawn = info[name]
        assert low <= drawn.min() < low + 0.05 * (high - low) and high - 0.05 * (high - low) < drawn.max() <= high, name
    # The next episodes draw others, the same seed the same.
    second, _ = envs.reset()
    assert not np.array_equal(envs.unwrapped.goals[walking], commands[walking])
    again, _ = envs.reset(seed=7)
    assert np.array_equal(first, again) and not np.array_equal(first, second)
    assert np.array_equal(envs.step(np.zeros((400, JOINTS)))[-1]["friction"], info["friction"])


@pytest.mark.parametrize("height", [2.0, STANDING])
def test_worlds_have_the_parameters_that_were_drawn(height):
    """The same robot on a plane, a batch of its own whose parameters are set to what was drawn, goes the same way."""
    envs = make(roughness=0, dt=0.002, frame_skip=1, tolerance=1e-12)
    envs.reset(seed=3)
    q, v = np.zeros((N, 19)), np.zeros((N, 18))
    q[:, 2], q[:, 3], v[:, 0], v[:, 4] = height, 1, 1.5, 0.2
    envs.unwrapped.set_state(q, v)
    action = np.random.default_rng(1).uniform(-0.3, 0.3, (N, JOINTS))
    *_, info = envs.step(action)
    model = mw.load("quadruped")

    def play(friction, mass, gain):
        batch = mw.Batch(model, N, executor="cpu", precision="f64", tolerance=1e-12)
        for name in model.geom_names:
            batch.set_parameter("geom_friction", name, friction[:, None])
        batch.set_parameter("body_mass", "trunk", 4.713 * mass[:, None])
        # A box of this mass.
        x, y, z = np.square([0.267, 0.194, 0.114])
        inertia = 4.713 / 12 * np.array([y + z, x + z, x + y, 0, 0, 0])
        batch.set_parameter("body_inertia", "trunk", mass[:, None] * inertia)
        for name in model.actuator_names:
            batch.set_parameter("actuator_gain", name, 100 * gain[:, None])
            batch.set_parameter("actuator_bias", name, gain[:, None] * [0, -100, -2])
        batch.set_state(q, v)
        for _ in range(20):
            batch.step(action)
        return batch.q

    for _ in range(19):
        envs.step(action)
    drawn = [info[name] for name in ["friction", "mass_scale", "gain_scale"]]
    expected = play(*drawn)
    assert envs.unwrapped.state[0] == pytest.approx(expected, abs=1e-8)
    # A percent of another world is seen; its friction where there is any.
    for k in [1, 2] if height > 1 else [0, 1, 2]:
        other = [drawn[j] * (1.01 if j == k else 1) for j in range(3)]
        assert (np.abs(play(*other) - expected).max(axis=1) > 1e-6).all(), k


def test_without_randomisation_worlds_are_alike():
    envs = make(randomize=False)
    envs.reset(seed=3)
    *_, info = envs.step(np.zeros((N, JOINTS)))
    assert (info["friction"] == 0.8).all() and (info["mass_scale"] == 1).all() and (info["gain_scale"] == 1).all()
    assert len(np.unique(envs.unwrapped.goals[:, 0])) > 1
    own = envs.unwrapped
    q, v = np.zeros((N, 19)), np.zeros((N, 18))
    q[:, 2], q[:, 3] = 0.4, 1
    own.set_state(q, v)
    for _ in range(20):
        envs.step(np.full((N, JOINTS), 0.1))
    assert (own.state[0] == own.state[0][0]).all()


def test_a_goal_can_be_given():
    envs = make()
    envs.reset(seed=0)
    goals = np.tile([0.3, -0.2, 0.1], (N, 1))
    envs.unwrapped.set_goals(goals)
    seen, *_ = envs.step(np.zeros((N, JOINTS)))
    assert np.array_equal(seen[:, 9:12], goals)
    with pytest.raises(ValueError, match="goals"):
        envs.unwrapped.set_goals(goals[:, :2])
    with pytest.raises(ValueError, match="goals"):
        envs.unwrapped.set_goals(np.nan * goals)
    env = gymnasium.make("manyworlds/Quadruped-v0").unwrapped
    env.reset(seed=0)
    env.set_goal([1, 0, 0])
    assert env.step(np.zeros(JOINTS, np.float32))[0][9:12].tolist() == [1, 0, 0]


def test_a_robot_that_lies_on_its_back_has_fallen_and_starts_again():
    envs = make(autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=0)
    own = envs.unwrapped
    q, v = own.state
    q[2, 3:7] = [0, 1, 0, 0]
    # Legs drawn up: the trunk is on the ground.
    q[4, 2] = 0.1
    own.set_state(q, v)
    before = own.goals
    seen, _, terminated, _, info = envs.step(np.zeros((N, JOINTS)))
    assert terminated.tolist() == [False, False, True, False, True, False]
    assert np.array_equal(info["_final_obs"], terminated)
    assert (info["final_obs"][2, 8] < 0.5) and (seen[2, 8] > 0.9)
    # A new episode, a new command; the others go on with theirs.
    changed = (own.goals != before).any(axis=1)
    assert changed.tolist() == terminated.tolist()
    assert np.array_equal(info["final_obs"][2, 9:12], before[2])


def test_reset_by_mask_leaves_the_others_alone():
    envs = make(autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=30)
    envs.reset(seed=0)
    other = make(autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=30)
    other.reset(seed=0)
    for _ in range(10):
        envs.step(np.full((N, JOINTS), 0.1))
        other.step(np.full((N, JOINTS), 0.1))
    mask = np.array([False, True, False, False, True, False])
    envs.reset(options={"reset_mask": mask})
    for _ in range(10):
        a = envs.step(np.full((N, JOINTS), 0.1))
        b = other.step(np.full((N, JOINTS), 0.1))
    assert np.array_equal(a[0][~mask], b[0][~mask]) and np.array_equal(a[4]["friction"][~mask], b[4]["friction"][~mask])
    assert (np.abs(a[0][mask] - b[0][mask]).max(axis=1) > 0.01).all()
    assert (a[4]["friction"][mask] != b[4]["friction"][mask]).all()


def test_next_step_autoreset_and_time_limit():
    envs = make(max_episode_steps=3)
    envs.reset(seed=0)
    cut = [envs.step(np.zeros((N, JOINTS)))[3].all() for _ in range(7)]
    assert cut == [False, False, True, False, False, False, True]


def test_threads_agree_and_precisions_nearly():
    actions = np.random.default_rng(2).uniform(-0.3, 0.3, (20, 64, JOINTS))

    def play(**settings):
        envs = make(64, **settings)
        first, _ = envs.reset(seed=0)
        return first, [envs.step(action.astype(first.dtype))[0] for action in actions]

    start, one = play(threads=1)
    _, two = play(threads=2)
    assert all(np.array_equal(a, b) for a, b in zip(one, two))
    single, seen = play(precision="f32")
    assert single.dtype == np.float32 and single == pytest.approx(start, abs=1e-6)
    assert seen[0][:, :48] == pytest.approx(one[0][:, :48], abs=2e-2)


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match="roughness.*-1"):
        make(roughness=-1)
    with pytest.raises(ValueError, match="roughness"):
        make(roughness=np.nan)
    for option in [{"roughness": 0.1}, {"randomize": False}]:
        with pytest.raises(ValueError, match="Ant has no such option"):
            gymnasium.make_vec("manyworlds/Ant-v0", num_envs=2, vectorization_mode="vector_entry_point", **option)


def test_gymnasium_s_rules_are_kept():
    check_env(gymnasium.make("manyworlds/Quadruped-v0").unwrapped, skip_render_check=True)
