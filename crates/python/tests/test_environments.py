"""Environments beside Gymnasium's own."""

import manyworlds  # noqa: F401 (registers the environments)
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
mujoco = pytest.importorskip("mujoco")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

TASKS = [
    "InvertedPendulum",
    "InvertedDoublePendulum",
    "Reacher",
    "Pusher",
    "Swimmer",
    "Hopper",
    "HalfCheetah",
    "Walker2d",
    "Ant",
    "Humanoid",
]
# Springs and drag: time stepping takes them otherwise than MuJoCo does, so these agree as the time step goes to zero only.
OWN_TIME_STEPPING = {"HalfCheetah", "Humanoid", "Swimmer"}

pytestmark = pytest.mark.filterwarnings("ignore")


def make(task, num_envs=3, **settings):
    settings = {"executor": "cpu", "precision": "f64", **settings}
    mode = "vector_entry_point"
    return gymnasium.make_vec(f"manyworlds/{task}-v0", num_envs=num_envs, vectorization_mode=mode, **settings)


def reference(task, refine=1, **arguments):
    """Gymnasium's environment, with the time stepping nearest to ours, and `refine` times the steps.

    What MuJoCo derives from a state is left behind by its steps: under RK4, which these models ask for, at the last stage,
    under other rules at the state before the last step. Here it is that of the new state, but for Pusher, which asks for
    Euler's rule.
    """
    env = gymnasium.make(f"{task}-v5", **arguments).unwrapped
    env.model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    env.model.opt.timestep /= refine
    env.frame_skip *= refine

    def simulate(ctrl, steps):
        env.data.ctrl[:] = ctrl
        mujoco.mj_step(env.model, env.data, nstep=steps)
        if task != "Pusher":
            mujoco.mj_forward(env.model, env.data)
        mujoco.mj_rnePostConstraint(env.model, env.data)

    env._step_mujoco_simulation = simulate
    return env


def in_the_air(env, task, seed=0):
    """A state that touches nothing, within all ranges, and moves; and an action."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    model, q = env.model, env.data.qpos.copy()
    for kind, at, limited, bounds in zip(model.jnt_type, model.jnt_qposadr, model.jnt_limited, model.jnt_range):
        if limited and np.abs(bounds).max() < 9:
            q[at] = bounds.mean() + rng.uniform(-0.1, 0.1) * np.ptp(bounds)
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            q[at + 3 : at + 7] /= np.linalg.norm(q[at + 3 : at + 7])
    if task in {"Hopper", "HalfCheetah", "Walker2d"}:
        q[1] += 3
    if task in {"Ant", "Humanoid"}:
        q[2] += 3
    if task == "Pusher":
        q[7:] = [-0.3, 0.2, 0, 0]
    v = rng.normal(size=model.nv) * 0.5
    return q, v, rng.uniform(-0.5, 0.5, env.action_space.shape) * env.action_space.high


def one_step(task, ours, theirs):
    """Observations before and after a step, and rewards, of both."""
    q, v, action = in_the_air(theirs, task)
    theirs.set_state(q, v)
    before = theirs._get_obs()
    seen = ours.unwrapped.set_state(np.tile(q, (3, 1)), np.tile(v, (3, 1)))
    after, reward, terminated, _, info = theirs.step(action)
    observations, rewards, terminations, _, infos = ours.step(np.tile(action, (3, 1)))
    assert terminations.tolist() == [terminated] * 3
    return before, seen, (after, reward, info), (observations, rewards, infos)


@pytest.mark.parametrize("task", TASKS)
def test_a_state_is_seen_as_gymnasium_sees_it(task):
    before, seen, _, _ = one_step(task, make(task), reference(task))
    assert seen == pytest.approx(np.tile(before, (3, 1)), abs=1e-9)


@pytest.mark.parametrize("task", [task for task in TASKS if task not in OWN_TIME_STEPPING])
def test_a_step_without_contact_is_gymnasium_s(task):
    _, _, (after, reward, info), (observations, rewards, infos) = one_step(task, make(task), reference(task))
    assert observations == pytest.approx(np.tile(after, (3, 1)), abs=1e-9)
    assert rewards == pytest.approx([reward] * 3, abs=1e-9)
    shared = [name for name in infos if name in info]
    assert len(shared) == len(infos) >= 1
    for name in shared:
        assert infos[name] == pytest.approx([info[name]] * 3, abs=1e-9), name


@pytest.mark.parametrize("task", sorted(OWN_TIME_STEPPING))
def test_time_stepping_of_its_own_goes_to_the_same_limit(task):
    errors = []
    for refine in [16, 32]:
        theirs = reference(task, refine)
        ours = make(task, dt=theirs.model.opt.timestep, frame_skip=theirs.frame_skip)
        _, _, (after, reward, _), (observations, rewards, _) = one_step(task, ours, theirs)
        errors.append([np.abs(observations[0] - after).max(), abs(rewards[0] - reward)])
    coarse, fine = errors
    # Of first order: half the step, half the difference.
    assert fine[0] == pytest.approx(coarse[0] / 2, rel=0.2)
    assert fine[0] < 0.1 and fine[1] < 0.01


def test_a_comparison_with_another_state_fails():
    before, seen, _, _ = one_step("Ant", make("Ant"), reference("Ant"))
    assert seen[0] + 1e-6 != pytest.approx(before, abs=1e-9)


# Arguments of Gymnasium's constructors, none of them at its default.
ARGUMENTS = {
    "InvertedPendulum": {"reset_noise_scale": 0.02},
    "InvertedDoublePendulum": {"healthy_reward": 7.0, "reset_noise_scale": 0.05},
    "Reacher": {"reward_dist_weight": 2.0, "reward_control_weight": 0.5},
    "Pusher": {"reward_near_weight": 0.7, "reward_dist_weight": 1.5, "reward_control_weight": 0.3},
    "Swimmer": {
        "forward_reward_weight": 2.0,
        "ctrl_cost_weight": 0.01,
        "reset_noise_scale": 0.2,
        "exclude_current_positions_from_observation": False,
    },
    "Hopper": {
        "forward_reward_weight": 2.0,
        "ctrl_cost_weight": 0.01,
        "healthy_reward": 3.0,
        "terminate_when_unhealthy": False,
        "healthy_state_range": (-50.0, 60.0),
        "healthy_z_range": (0.5, 2.0),
        "healthy_angle_range": (-0.3, 0.4),
        "exclude_current_positions_from_observation": False,
    },
    "HalfCheetah": {
        "forward_reward_weight": 2.0,
        "ctrl_cost_weight": 0.05,
        "reset_noise_scale": 0.2,
        "exclude_current_positions_from_observation": False,
    },
    "Walker2d": {
        "forward_reward_weight": 0.5,
        "ctrl_cost_weight": 0.01,
        "healthy_reward": 2.0,
        "terminate_when_unhealthy": False,
        "healthy_z_range": (0.5, 9.0),
        "healthy_angle_range": (-2.0, 1.5),
        "exclude_current_positions_from_observation": False,
    },
    "Ant": {
        "forward_reward_weight": 0.5,
        "ctrl_cost_weight": 0.1,
        "contact_cost_weight": 1e-3,
        "healthy_reward": 2.0,
        "terminate_when_unhealthy": False,
        "healthy_z_range": (0.3, 9.0),
        "contact_force_range": (-0.5, 2.0),
        "exclude_current_positions_from_observation": False,
        "include_cfrc_ext_in_observation": False,
    },
    "Humanoid": {
        "forward_reward_weight": 2.0,
        "ctrl_cost_weight": 0.2,
        "contact_cost_weight": 1e-6,
        "contact_cost_range": (0.5, 3.0),
        "healthy_reward": 2.0,
        "terminate_when_unhealthy": False,
        "healthy_z_range": (0.5, 9.0),
        "exclude_current_positions_from_observation": False,
        "include_cinert_in_observation": False,
        "include_cvel_in_observation": False,
        "include_qfrc_actuator_in_observation": False,
        "include_cfrc_ext_in_observation": False,
    },
}


@pytest.mark.parametrize("task", TASKS)
def test_arguments_mean_what_they_mean_to_gymnasium(task):
    arguments = ARGUMENTS[task]
    ours, theirs = make(task, **arguments), reference(task, 1, **arguments)
    assert ours.single_observation_space.shape == theirs.observation_space.shape
    before, seen, (after, reward, info), (observations, rewards, infos) = one_step(task, ours, theirs)
    assert seen == pytest.approx(np.tile(before, (3, 1)), abs=1e-9)
    if task not in OWN_TIME_STEPPING:
        assert observations == pytest.approx(np.tile(after, (3, 1)), abs=1e-9)
        assert rewards == pytest.approx([reward] * 3, abs=1e-9)
        return
    # Where time stepping is another, all but the velocity is the same; and rewards are what the arguments make of that.
    own = {name: numbers[0] for name, numbers in infos.items()}
    assert own["reward_ctrl"] == pytest.approx(info["reward_ctrl"], abs=1e-9)
    assert own["reward_forward"] == pytest.approx(arguments["forward_reward_weight"] * own["x_velocity"], abs=1e-9)
    assert own.get("reward_survive", 0) == info.get("reward_survive", 0)
    # Without contact the cost of contact is the least there is.
    assert own.get("reward_contact", 0) == info.get("reward_contact", 0) == -arguments.get("contact_cost_range", [0])[0]
    parts = ["reward_forward", "reward_ctrl", "reward_survive", "reward_contact"]
    assert rewards[0] == pytest.approx(sum(own.get(part, 0) for part in parts), abs=1e-9)


@pytest.mark.parametrize("task", ["Hopper", "Walker2d", "Ant", "Humanoid"])
def test_what_has_fallen_goes_on_where_it_is_told_to(task):
    q = {"Hopper": [0, 0.3, 0, 0, 0, 0], "Walker2d": [0, 0.3] + [0] * 7}.get(task)
    if q is None:
        theirs = gymnasium.make(f"{task}-v5").unwrapped
        theirs.reset(seed=0)
        q = theirs.data.qpos.copy()
        q[2] = 0.15
    for arguments, over in [({}, True), ({"terminate_when_unhealthy": False}, False)]:
        envs = make(task, 2, **arguments)
        envs.reset(seed=0)
        n_v = envs.unwrapped.state[1].shape[1]
        envs.unwrapped.set_state([q] * 2, np.zeros((2, n_v)))
        *_, terminated, _, info = envs.step(np.zeros(envs.action_space.shape))
        assert terminated.tolist() == [over] * 2 and info["reward_survive"].tolist() == [0, 0]


def test_noise_of_starts_is_what_it_is_told_to_be():
    for task, normal in [("Hopper", False), ("HalfCheetah", True)]:
        envs = make(task, 300, reset_noise_scale=0.3)
        envs.reset(seed=0)
        q, v = envs.unwrapped.state
        assert 0.27 < np.abs(q - manyworlds_start({"Hopper": "hopper.xml", "HalfCheetah": "half_cheetah.xml"}[task])).max() <= 0.3
        assert v.std() == pytest.approx(0.3 if normal else 0.3 / np.sqrt(3), rel=0.05)


def test_arguments_that_a_task_does_not_have_are_refused_by_name():
    with pytest.raises(ValueError, match="healthy_reward: HalfCheetah has no such option"):
        make("HalfCheetah", healthy_reward=1.0)
    with pytest.raises(TypeError, match="xml_file: no environment has such an option; there are randomize, "):
        make("Ant", xml_file="ant.xml")
    with pytest.raises(TypeError, match="main_body"):
        make("Ant", main_body=1)
    with pytest.raises(ValueError, match="ctrl_cost_weight: expected a finite number"):
        make("Ant", ctrl_cost_weight=np.nan)
    with pytest.raises(ValueError, match="healthy_z_range: expected two numbers, the lower first"):
        make("Ant", healthy_z_range=(2, 1))
    with pytest.raises(ValueError, match="healthy_z_range: expected two numbers"):
        make("Ant", healthy_z_range=2.0)
    with pytest.raises(ValueError, match="reset_noise_scale: expected a number that is not below zero"):
        make("Ant", reset_noise_scale=-1.0)
    with pytest.raises(TypeError, match="healthy_z_range"):
        make("Ant", healthy_z_range="high")


def hard(env):
    """Makes MuJoCo's contacts and limits as hard as its time step allows, with friction cones that are round.

    Margins are taken away: with one, MuJoCo's bodies rest above each other.
    """
    model, dt = env.model, env.model.opt.timestep
    model.opt.cone, model.opt.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 100
    model.opt.iterations, model.opt.tolerance = 200, 1e-12
    model.geom_margin[:] = 0
    for reference, impedance in [(model.geom_solref, model.geom_solimp), (model.jnt_solref, model.jnt_solimp)]:
        reference[:] = [2 * dt, 1]
        impedance[:] = [0.99, 0.9999, 1e-4, 0.5, 2]


def differences_in_contact(task, refine, harden, count=16):
    """How far positions are apart after a step from states that random actions led to, `(count,)`, m and rad.

    States in which a joint is beyond its limit are left out: MuJoCo throws it back with a force that grows as contact hardens.
    """
    envs = make(task, count)
    envs.reset(seed=0)
    rng, high = np.random.default_rng(0), envs.single_action_space.high
    for _ in range(15):
        envs.step(rng.uniform(-1, 1, envs.action_space.shape) * high)
    q, v = envs.unwrapped.state
    actions = rng.uniform(-1, 1, envs.action_space.shape) * high
    theirs = reference(task, refine)
    near = reference(task).model
    near.geom_margin[:] = 1e-3
    state = mujoco.MjData(near)
    if harden:
        hard(theirs)
    ours = make(task, count, dt=theirs.model.opt.timestep, frame_skip=theirs.frame_skip)
    ours.reset(seed=0)
    ours.unwrapped.set_state(q, v)
    ours.step(actions)
    found, touching = [], 0
    for own_q, own_v, action, after in zip(q, v, actions, ours.unwrapped.state[0]):
        state.qpos[:] = own_q
        mujoco.mj_forward(near, state)
        limits = [i for i in range(state.nefc) if state.efc_type[i] == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT]
        if any(state.efc_pos[i] < -1e-6 for i in limits):
            continue
        touching += state.ncon > 0
        theirs.reset(seed=0)
        theirs.set_state(own_q, own_v)
        theirs.step(action)
        found.append(np.abs(theirs.data.qpos - after).max())
    assert len(found) >= count / 2 and touching >= count / 4
    return np.array(found)


@pytest.mark.parametrize(
    "task, bound, nearer",
    [("Hopper", 1e-4, 10), ("Walker2d", 1e-3, 10), ("Humanoid", 1e-4, 10), ("HalfCheetah", 2e-2, 3), ("Ant", 4e-2, 2)],
)
def test_a_step_in_contact_is_gymnasium_s_as_its_contact_hardens(task, bound, nearer):
    """What is left where MuJoCo's contacts are hard and time steps small: `bound`, of three states in four.

    In the others, and in most of HalfCheetah's and Ant's, several feet touch one after the other within the step, and bounce or
    slide in one simulator and not in the other.
    """
    soft = np.quantile(differences_in_contact(task, 1, False), 0.75)
    hardened = np.quantile(differences_in_contact(task, 40, True), 0.75)
    assert hardened < bound and hardened < soft / nearer


def test_contact_forces_are_what_changes_momentum():
    """Of a humanoid that lands: forces on bodies add up to what gravity does not explain."""
    envs = make("Humanoid", 1, frame_skip=1, tolerance=1e-12)
    q, v = np.zeros(24), np.zeros(23)
    q[2], q[3], v[2] = 1.25, 1.0, -2.0
    envs.reset(seed=0)
    n = 13

    def parts(seen):
        inertia, velocity = seen[45 : 45 + 10 * n].reshape(n, 10), seen[45 + 10 * n : 45 + 16 * n].reshape(n, 6)
        mass, moment = inertia[:, 9], inertia[:, 6:9]
        momentum = mass[:, None] * velocity[:, 3:] + np.cross(velocity[:, :3], moment)
        return mass.sum(), momentum.sum(axis=0), seen[-6 * n :].reshape(n, 6)

    mass, before, _ = parts(envs.unwrapped.set_state([q], [v])[0])
    touched = 0
    for _ in range(60):
        seen, _, _, _, _ = envs.step(np.zeros((1, 17)))
        _, after, forces = parts(seen[0])
        force = forces[:, 3:].sum(axis=0)
        touched += force[2] > 1
        # The feet are links that the ground pushes upwards, one step long.
        change = (after - before) / envs.unwrapped.dt
        # Momentum is seen at the new positions, forces act at the old ones: equal to first order in the step.
        assert force == pytest.approx(change - mass * np.array([0, 0, -9.81]), abs=0.02 * mass * 9.81 + 0.02 * abs(force[2]))
        before = after
    assert touched > 10


@pytest.mark.parametrize("task", [*TASKS, "Pinch", "Drawer"])
def test_single_environments_keep_gymnasium_s_rules(task):
    env = gymnasium.make(f"manyworlds/{task}-v0")
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("task", ["Hopper", "Humanoid"])
def test_starts_are_distributed_as_gymnasium_s(task):
    ours = make(task, 400)
    ours.reset(seed=3)
    q, v = ours.unwrapped.state
    theirs = gymnasium.make(f"{task}-v5").unwrapped
    starts = []
    for seed in range(400):
        theirs.reset(seed=seed)
        starts.append(np.concatenate([theirs.data.qpos, theirs.data.qvel]))
    starts, own = np.array(starts), np.hstack([q, v])
    deviation = starts.std(axis=0)
    assert own.mean(axis=0) == pytest.approx(starts.mean(axis=0), abs=6 * deviation.max() / 20)
    # A quaternion that is normalized varies less than one that is not.
    free = {"Hopper": [], "Humanoid": [3]}[task]
    kept = [i for i in range(own.shape[1]) if i not in free]
    assert own.std(axis=0)[kept] == pytest.approx(deviation[kept], rel=0.2)


def test_a_seed_gives_the_same_again():
    envs = make("HalfCheetah", 4)
    first, _ = envs.reset(seed=5)
    again, _ = envs.reset(seed=5)
    follows, _ = envs.reset()
    moved, _ = envs.reset(seed=6)
    assert np.array_equal(first, again) and not np.array_equal(first, follows)
    # Environment i has the seed + i.
    assert np.array_equal(moved[:3], first[1:])
    assert len(np.unique(first[:, 0])) == 4


def until_one_is_over(envs):
    envs.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(200):
        found = envs.step(rng.uniform(-1, 1, envs.action_space.shape).astype(np.float32))
        if found[2].any():
            return found
    raise AssertionError("no episode ended")


def test_next_step_autoreset():
    envs = make("Hopper", 8)
    _, _, terminated, _, _ = until_one_is_over(envs)
    assert not terminated.all()
    seen, rewards, again, truncated, _ = envs.step(np.zeros((8, 3)))
    q, _ = envs.unwrapped.state
    assert (rewards[terminated] == 0).all() and not again[terminated].any() and not truncated.any()
    # It stands at its start, whatever the action was, and goes on from there.
    assert np.abs(q[terminated] - manyworlds_start("hopper.xml")).max() <= 5e-3
    assert np.array_equal(seen[terminated, :5], q[terminated, 1:])
    _, rewards, *_ = envs.step(np.zeros((8, 3)))
    assert (rewards[terminated] > 0.5).all()


def manyworlds_start(name):
    return mujoco.MjModel.from_xml_path(str(assets() / name)).qpos0


def assets():
    from pathlib import Path

    return Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


def test_same_step_autoreset():
    envs = make("Hopper", 8, autoreset_mode=AutoresetMode.SAME_STEP)
    seen, rewards, terminated, _, info = until_one_is_over(envs)
    assert np.array_equal(info["_final_obs"], terminated) and np.array_equal(info["_final_info"], terminated)
    # The last look is that of a hopper that fell, the one given that of a new start.
    last = info["final_obs"][terminated]
    assert ((last[:, 0] <= 0.7) | (np.abs(last[:, 1]) >= 0.2)).all()
    q, _ = envs.unwrapped.state
    assert np.abs(q[terminated] - manyworlds_start("hopper.xml")).max() <= 5e-3
    assert np.array_equal(seen[:, :5], q[:, 1:])
    assert "reward_forward" in info["final_info"]


def test_disabled_autoreset_and_reset_by_mask():
    envs = make("Hopper", 8, autoreset_mode=AutoresetMode.DISABLED)
    before, _, terminated, _, _ = until_one_is_over(envs)
    with pytest.raises(RuntimeError, match="is over"):
        envs.step(np.zeros((8, 3)))
    seen, _ = envs.reset(options={"reset_mask": terminated})
    assert np.array_equal(seen[~terminated], before[~terminated])
    assert not np.array_equal(seen[terminated], before[terminated])
    envs.step(np.zeros((8, 3)))
    with pytest.raises(TypeError, match="reset_mask"):
        envs.reset(options={"reset_mask": [True] * 8})
    with pytest.raises(ValueError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.ones(3, bool)})


def test_episodes_are_cut_off():
    envs = make("Reacher", 2)
    envs.reset(seed=0)
    for step in range(1, 51):
        *_, terminated, truncated, _ = envs.step(np.zeros((2, 2)))
        assert truncated.all() == (step == 50) and not terminated.any()
    envs = make("HalfCheetah", 2, max_episode_steps=3)
    envs.reset(seed=0)
    assert [envs.step(np.zeros((2, 6)))[3].all() for _ in range(7)] == [False, False, True, False, False, False, True]


def test_wrong_calls_are_refused():
    envs = make("Hopper", 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="seed: expected at least 0, found -1"):
        envs.reset(seed=-1)
    with pytest.raises(ValueError, match="num_envs: expected at least 1, found 0"):
        make("Hopper", 0)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="actions"):
        envs.step(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="finite"):
        envs.step(np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="frame_skip"):
        make("Hopper", frame_skip=0)
    with pytest.raises(ValueError, match="render_mode"):
        make("Hopper", render_mode="human")


def test_environments_have_parameters_of_their_own():
    envs = make("HalfCheetah", 3)
    envs.reset(seed=0)
    q, v = np.zeros((3, 9)), np.zeros((3, 9))
    q[:, 1] = 3
    envs.unwrapped.set_state(q, v)
    envs.unwrapped.set_parameter("gravity", None, [[0, 0, -2.0], [0, 0, 0]], [1, 2])
    envs.step(np.zeros((3, 6)))
    # Five steps of falling, of 0.01 s each.
    assert envs.unwrapped.state[1][:, 1] == pytest.approx([-9.81 * 0.05, -2 * 0.05, 0], abs=1e-3)
    with pytest.raises(IndexError, match="world 3"):
        envs.unwrapped.set_parameter("gravity", None, [[0, 0, -2.0]], [3])


def test_precisions_and_threads_agree():
    actions = np.random.default_rng(2).uniform(-1, 1, (20, 64, 8))

    def play(**settings):
        envs = make("Ant", 64, **settings)
        first, _ = envs.reset(seed=0)
        return first, [envs.step(action.astype(first.dtype))[0] for action in actions]

    start, one = play(threads=1)
    _, two = play(threads=2)
    assert all(np.array_equal(a, b) for a, b in zip(one, two))
    single, seen = play(precision="f32")
    assert single.dtype == np.float32 and seen[0].dtype == np.float32
    assert single == pytest.approx(start, abs=1e-6)
    assert seen[0][:, :27] == pytest.approx(one[0][:, :27], abs=2e-2)
