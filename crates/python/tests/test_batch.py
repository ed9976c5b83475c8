"""Models, batches and single contact problems."""

import gc
import pickle
import threading

import manyworlds as mw
import numpy as np
import pytest

FREE_BOX = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="box" pos="0 0 3"><freejoint name="root"/><geom type="box" size=".1 .2 .3"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def cheetah():
    return mw.load("half-cheetah")


@pytest.fixture(params=["f32", "f64"])
def batch(request, cheetah):
    return mw.Batch(cheetah, 5, executor="cpu", precision=request.param)


def random_controls(batch, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (len(batch), batch.model.n_u)).astype(batch.q.dtype)


def test_a_model_says_what_it_is(cheetah):
    assert (cheetah.n_q, cheetah.n_v, cheetah.n_u) == (9, 9, 6)
    assert len(cheetah.joint_names) == 9 and len(cheetah.actuator_names) == 6
    assert "torso" in cheetah.body_names
    assert cheetah.ctrl_range.shape == (6, 2) and cheetah.initial_q.shape == (9,)
    assert cheetah.timestep > 0


def test_joints_say_where_their_numbers_are(cheetah):
    thigh = next(joint for joint in cheetah.joints if joint.name == "back_hip")
    assert (thigh.kind, thigh.q, thigh.v) == ("hinge", slice(3, 4, 1), slice(3, 4, 1))
    assert cheetah.body_names[thigh.body] == "back_thigh" and thigh.range == pytest.approx([-0.52, 1.05])
    root = mw.load("ant").joints[0]
    assert (root.kind, root.q, root.v) == ("free", slice(0, 7, 1), slice(0, 6, 1)) and np.isinf(root.range).all()


def test_arrays_outlive_their_batch(cheetah):
    batch = mw.Batch(cheetah, 2, executor="cpu", precision="f64")
    batch.keep_steps(True)
    batch.step(np.full((2, 6), 0.5))
    q, kept, copy = batch.q, batch.kept_step(), batch.q.copy()
    expected = batch.vjp(None, np.ones((2, 9))).ctrl
    del batch
    gc.collect()
    assert np.array_equal(q, copy)
    assert kept.vjp(None, np.ones((2, 9))).ctrl == pytest.approx(expected, rel=1e-9) and np.abs(expected).max() > 0


def test_damaged_checkpoints_are_refused_or_taken_and_never_crash(batch):
    batch.step(random_controls(batch))
    whole = batch.checkpoint()
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(whole[: rng.integers(1, len(whole) + 1)])
        for at in rng.integers(0, len(damaged), 3):
            damaged[at] ^= int(rng.integers(1, 256))
        try:
            batch.restore(bytes(damaged))
        except ValueError:
            pass
    batch.restore(whole)
    batch.step(random_controls(batch))
    assert np.isfinite(batch.q).all()


def test_a_model_goes_to_another_process(cheetah):
    again = pickle.loads(pickle.dumps(cheetah))
    assert again.joint_names == cheetah.joint_names


def test_models_that_are_none_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="neither a model file"):
        mw.load("nothing")
    wrong = tmp_path / "wrong.xml"
    wrong.write_text('<mujoco><worldbody><body><geom type="ball" size="1"/></body></worldbody></mujoco>')
    with pytest.raises(ValueError, match="wrong.xml:1.*ball"):
        mw.load(wrong)
    with pytest.raises(FileNotFoundError, match="absent.xml"):
        mw.load(tmp_path / "absent.xml")
    with pytest.raises(OSError, match="directory"):
        mw.load(tmp_path)


def test_arrays_have_the_batch_s_precision_and_shapes(batch, cheetah):
    real = np.float32 if batch.precision == "f32" else np.float64
    batch.step(np.zeros((5, 6), real))
    assert batch.q.shape == (5, 9) and batch.q.dtype == real
    assert batch.v.shape == (5, 9) and batch.v.dtype == real
    assert batch.poses.shape == (5, len(cheetah.body_names), 7)
    found = batch.certificates
    for name in ["residual", "residual_scaled", "balance", "contacts", "penetration", "status", "relaxed"]:
        assert found[name].shape == (5,), name
        assert getattr(found, name) is found[name]
    assert found.residual.dtype == real
    assert batch.read("tau").shape == (5, 9)


def test_a_free_joint_is_as_mujoco_has_it(tmp_path):
    """Position and quaternion (w, x, y, z); linear velocity in the world's frame, angular velocity in the body's."""
    file = tmp_path / "box.xml"
    file.write_text(FREE_BOX)
    batch = mw.Batch(mw.load(file), 1, executor="cpu", precision="f64")
    half = np.sqrt(0.5)
    # A quarter turn about x: the body's y axis is the world's z axis.
    q, v = np.array([[0, 0, 3, half, half, 0, 0]]), np.array([[1.0, 0, 0, 0, 2.0, 0]])
    batch.set_state(q, v)
    batch.step()
    assert batch.q[0, :3] == pytest.approx([0.01, 0, 3 - 9.81 * 0.01**2], abs=1e-12)
    # It turns about the world's z axis by 0.02 rad; about a principal axis, so that it goes on.
    w, x, y, z = batch.q[0, 3:]
    assert 2 * (x * z - w * y) == pytest.approx(0, abs=1e-9)
    turned = np.array([w * w + x * x - y * y - z * z, 2 * (x * y + w * z)])
    assert turned == pytest.approx([np.cos(0.02), np.sin(0.02)], abs=1e-6)
    assert batch.v[0] == pytest.approx([1, 0, -0.0981, 0, 2, 0], abs=1e-9)
    assert batch.poses[0, 1] == pytest.approx(batch.q[0], abs=1e-12)


def test_steps_with_the_same_controls(batch, cheetah):
    other = mw.Batch(cheetah, 5, executor="cpu", precision=batch.precision)
    ctrl = random_controls(batch)
    batch.step(ctrl, steps=3)
    for _ in range(3):
        other.step(ctrl)
    assert np.array_equal(batch.q, other.q) and np.array_equal(batch.v, other.v)


def test_threads_do_not_change_the_numbers(cheetah):
    one, two = (mw.Batch(cheetah, 40, executor="cpu", threads=n) for n in [1, 2])
    ctrl = random_controls(one)
    one.step(ctrl, steps=20)
    two.step(ctrl, steps=20)
    assert np.array_equal(one.q, two.q)


def test_anything_with_dlpack_is_taken(batch):
    class Foreign:
        """An array of another library: all that is known of it is DLPack."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    ctrl = random_controls(batch)
    start = batch.checkpoint()
    batch.step(ctrl)
    expected = batch.q
    for other in [Foreign(ctrl), ctrl.tolist(), np.asfortranarray(ctrl), np.repeat(ctrl, 2, axis=1)[:, ::2]]:
        batch.restore(start)
        batch.step(other)
        assert batch.q == pytest.approx(expected, abs=1e-6)
    assert np.array_equal(np.from_dlpack(batch.q), batch.q)


def test_wrong_arrays_are_refused_and_change_nothing(batch):
    before = batch.q
    for wrong, error, words in [
        (np.zeros((4, 6)), ValueError, r"ctrl: expected an array of shape \(5, 6\), found \(4, 6\)"),
        (np.zeros(30), ValueError, r"found \(30,\)"),
        (np.full((5, 6), np.nan), ValueError, "expected a finite number, found NaN"),
        (np.full((5, 6), 1j), TypeError, "complex"),
        (np.full((5, 6), "a"), TypeError, "ctrl"),
        ([[1.0], [1.0, 2.0]], ValueError, "inhomogeneous"),
        ("push", ValueError, "ctrl"),
    ]:
        with pytest.raises(error, match=words):
            batch.step(wrong)
    with pytest.raises(ValueError, match="mask"):
        batch.reset(np.zeros(3, bool))
    with pytest.raises(TypeError, match="mask"):
        batch.reset(np.zeros(5))
    with pytest.raises(ValueError, match="q"):
        batch.set_state(np.full((5, 9), np.inf))
    with pytest.raises(ValueError, match="steps: expected at least 0, found -1"):
        batch.step(None, steps=-1)
    with pytest.raises(TypeError, match="steps"):
        batch.step(None, steps=1.5)
    assert np.array_equal(batch.q, before) and batch.steps == 0


def test_wrong_settings_are_refused(cheetah):
    for wrong, words in [
        ({"worlds": 0}, "worlds: expected at least 1, found 0"),
        ({"worlds": -1}, "worlds: expected at least 1, found -1"),
        ({"executor": "tpu"}, "executor"),
        ({"precision": "f16"}, "precision"),
        ({"solver": "magic"}, "magic"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"threads": 0}, "threads"),
        ({"threads": 100_000}, "threads: expected 1 to 1024"),
        ({"integrator": "rk4"}, "integrator"),
    ]:
        with pytest.raises(ValueError, match=words):
            mw.Batch(cheetah, **{"worlds": 2, **wrong})
    with pytest.raises(MemoryError):
        mw.Batch(cheetah, 10**9, executor="cpu")
    with pytest.raises(TypeError):
        mw.Batch("half-cheetah", 3)


def test_states_and_resets_by_mask(batch, cheetah):
    batch.step(random_controls(batch), steps=3)
    before = batch.q
    mask = np.array([True, False, False, True, False])
    batch.reset(mask)
    assert batch.q[mask] == pytest.approx(np.tile(cheetah.initial_q, (2, 1)))
    assert np.array_equal(batch.q[~mask], before[~mask]) and not batch.v[mask].any()
    q = np.tile(cheetah.initial_q + 0.1, (5, 1))
    batch.set_state(q, np.ones((5, 9)), mask=~mask)
    assert batch.q[~mask] == pytest.approx(q[~mask]) and (batch.v[~mask] == 1).all()
    assert not batch.v[mask].any()


def test_a_checkpoint_goes_on_bit_for_bit(batch):
    ctrl = random_controls(batch)
    batch.step(ctrl, steps=10)
    saved = batch.checkpoint()
    batch.step(ctrl, steps=10)
    expected = batch.q
    batch.restore(saved)
    batch.step(ctrl, steps=10)
    assert np.array_equal(batch.q, expected)
    with pytest.raises(ValueError, match="checkpoint"):
        batch.restore(saved[:-1])


def test_mixed_batches_take_and_give_lists():
    hopper, ant = mw.load("hopper"), mw.load("ant")
    batch = mw.Batch([(hopper, 2), (ant, 3)], executor="cpu")
    batch.step([np.zeros((2, hopper.n_u)), np.zeros((3, ant.n_u))])
    assert [q.shape for q in batch.q] == [(2, hopper.n_q), (3, ant.n_q)]
    assert batch.certificates.residual.shape == (5,) and len(batch) == 5
    alone = mw.Batch(ant, 3, executor="cpu")
    alone.step(np.zeros((3, ant.n_u)))
    assert np.array_equal(batch.q[1], alone.q)
    with pytest.raises(ValueError, match="list of 2 arrays"):
        batch.step([np.zeros((2, hopper.n_u))])


def test_worlds_have_parameters_of_their_own(cheetah):
    batch = mw.Batch(cheetah, 3, executor="cpu", precision="f64")
    q = np.tile(cheetah.initial_q, (3, 1))
    q[:, 1] += 2
    batch.set_state(q)
    batch.set_parameter("gravity", None, [[0, 0, -1.0]], worlds=[1])
    batch.set_parameter("body_mass", "torso", [[9.0], [3.0]], worlds=[0, -1])
    assert batch.parameter("body_mass", "torso", 2) == [3.0]
    batch.step()
    dt = cheetah.timestep
    # The first coordinate is along x, the second up; nothing else acts on a cheetah in the air.
    assert batch.v[:, 1] == pytest.approx([-9.81 * dt, -1.0 * dt, -9.81 * dt], rel=1e-6)
    for name, of, values, words in [
        ("mass", "torso", [[1.0]] * 3, "parameter"),
        ("body_mass", "tail", [[1.0]] * 3, "tail"),
        ("body_mass", "torso", [[1.0, 2.0]] * 3, "BodyMass"),
        ("geom_friction", 0, [[-1.0]] * 3, "Friction"),
    ]:
        with pytest.raises(ValueError, match=words):
            batch.set_parameter(name, of, values)


def test_a_world_is_laid_open(tmp_path):
    file = tmp_path / "box.xml"
    file.write_text(FREE_BOX)
    model = mw.load(file)
    batch = mw.Batch(model, 2, executor="cpu", precision="f64")
    batch.set_state([[0, 0, 3, 1, 0, 0, 0], [0, 0, 0.3, 1, 0, 0, 0]])
    batch.step()
    assert batch.inspect(0).contacts == []
    found = batch.inspect(1)
    mass = 8 * 0.1 * 0.2 * 0.3 * 1000
    assert found.M.shape == (6, 6) and found.M[2, 2] == pytest.approx(mass)
    # The ground carries the weight.
    assert sum(c.impulse[2] for c in found.contacts) == pytest.approx(mass * 9.81 * 0.01, rel=1e-6)
    assert batch.certificates.contacts[1] == len(found.contacts) >= 3
    with pytest.raises(IndexError, match="world 2"):
        batch.inspect(2)


def test_sensors_show_the_state_that_a_step_began_with(tmp_path):
    file = tmp_path / "box.xml"
    sensors = '<sensor><framepos name="where" objtype="body" objname="box"/><gyro name="turn" site="s"/></sensor>'
    file.write_text(FREE_BOX.replace("</worldbody>", f"</worldbody>{sensors}").replace("<freejoint", '<site name="s"/><freejoint'))
    model = mw.load(file)
    assert model.sensor_names == ["where", "turn"]
    batch = mw.Batch(model, 2, executor="cpu")
    q, v = np.tile([0, 0, 3.0, 1, 0, 0, 0], (2, 1)), np.zeros((2, 6))
    q[1, :3], v[1, 3:] = [1, 2, 4], [0.1, 0.2, 0.3]
    batch.set_state(q, v)
    batch.step()
    found = batch.sensors
    assert found.shape == (2, 6) and found.dtype == np.float32
    assert found[:, model.sensor_ranges["where"]] == pytest.approx(q[:, :3])
    assert found[:, model.sensor_ranges["turn"]] == pytest.approx(v[:, 3:])
    assert mw.Batch(mw.load("hopper"), 2, executor="cpu").sensors.shape == (2, 0)


def test_rollouts_are_steps(batch):
    ctrl = np.stack([random_controls(batch, seed) for seed in range(4)])
    start = batch.checkpoint()
    found = batch.rollout(ctrl)
    batch.restore(start)
    for step in range(4):
        batch.step(ctrl[step])
        assert np.array_equal(found.q[step], batch.q) and np.array_equal(found.v[step], batch.v)


def test_other_threads_run_while_a_batch_steps(cheetah):
    batch = mw.Batch(cheetah, 64, executor="cpu", threads=1)
    count, done = 0, threading.Event()

    def step():
        batch.step(None, steps=2000)
        done.set()

    thread = threading.Thread(target=step)
    thread.start()
    while not done.is_set():
        count += 1
        done.wait(0.001)
    thread.join()
    # With the GIL held all the while this thread could not have counted at all.
    assert count > 20


def test_one_batch_from_two_threads(cheetah):
    batch = mw.Batch(cheetah, 8, executor="cpu")
    threads = [threading.Thread(target=batch.step, args=(None, 50)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert batch.steps == 200


def test_a_block_on_the_ground_as_a_contact_problem():
    problem = {
        "A": np.eye(3),
        "b": np.array([0.3, 0.0, -1.0]),
        "subsystems": [(0, 3)],
        "contacts": [{"J": np.eye(3), "mu": 0.5, "e": np.zeros(3)}],
    }
    found = mw.solve(problem)
    assert found.v == pytest.approx(np.zeros(3), abs=1e-8)
    assert found["lambda"] == pytest.approx([-0.3, 0, 1], abs=1e-8)
    problem["b"] = np.array([2.0, 0.0, -1.0])
    found = mw.solve(problem, solver="pgs")
    assert found.v == pytest.approx([1.5, 0, 0], abs=1e-8) and found["lambda"] == pytest.approx([-0.5, 0, 1], abs=1e-8)
    problem["b"] = np.array([np.nan, 0, 0])
    with pytest.raises(ValueError, match="finite"):
        mw.solve(problem)
    problem["b"] = np.zeros(2)
    with pytest.raises(ValueError):
        mw.solve(problem)


def test_a_file_is_resumed_bit_for_bit(batch, tmp_path):
    ctrl = random_controls(batch)
    batch.step(ctrl, steps=10)
    path = tmp_path / "cheetahs"
    batch.save(path)
    batch.step(ctrl, steps=10)
    expected = batch.q
    batch.resume(path)
    batch.step(ctrl, steps=10)
    assert np.array_equal(batch.q, expected)
    assert [p.name for p in tmp_path.iterdir()] == ["cheetahs"]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        batch.resume(tmp_path / "nowhere")
    with pytest.raises(OSError, match="nowhere"):
        batch.save(tmp_path / "nowhere" / "cheetahs")


def test_soft_bodies_are_seen_and_have_parameters():
    model = mw.load("soft-pinch")
    assert len(model.soft_names) == 1
    batch = mw.Batch(model, 2, executor="cpu", precision="f64")
    name = model.soft_names[0]
    young = batch.parameter("soft_young", name, 0)
    batch.set_parameter("soft_young", name, [[2 * young[0]]], worlds=[1])
    batch.step(steps=5)
    hard, soft = batch.soft(1)[0], batch.soft(0)[0]
    assert soft.name == name and soft.nodes.shape[1] == 3 and soft.volume > 0
    assert np.abs(soft.nodes - hard.nodes).max() > 1e-9
    with pytest.raises(TypeError, match="region"):
        batch.set_parameter("soft_pressure", name, [[1.0], [1.0]])
