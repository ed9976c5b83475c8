"""Derivatives of steps against central differences."""

import manyworlds as mw
import numpy as np
import pytest


@pytest.fixture
def batch():
    """Cheetahs on the ground, solved as far as double precision goes."""
    model = mw.load("half-cheetah")
    return mw.Batch(model, 3, executor="cpu", precision="f64", tolerance=1e-12, iterations=1000)


def start(batch, seed=1):
    rng = np.random.default_rng(seed)
    model = batch.model
    batch.reset()
    batch.step(rng.uniform(-0.3, 0.3, (len(batch), model.n_u)), steps=30)
    return batch.q, batch.v, rng.uniform(-0.3, 0.3, (len(batch), model.n_u))


def test_products_are_those_with_the_jacobian(batch):
    q, v, ctrl = start(batch)
    batch.keep_steps(True)
    batch.step(ctrl)
    rng = np.random.default_rng(3)
    dq, dv = rng.normal(size=q.shape), rng.normal(size=v.shape)
    found = batch.vjp(dq, dv)
    assert found.valid.all() and found.valid.shape == (3,)
    for world in range(3):
        jacobian = batch.jacobian(world)
        assert jacobian.valid
        for name in ["q", "v", "tau", "ctrl"]:
            expected = jacobian[f"dq_d{name}"].T @ dq[world] + jacobian[f"dv_d{name}"].T @ dv[world]
            assert found[name][world] == pytest.approx(expected, rel=1e-9, abs=1e-10), name


def test_products_are_those_of_central_differences(batch):
    q, v, ctrl = start(batch)
    batch.keep_steps(True)
    rng = np.random.default_rng(4)
    dv = rng.normal(size=v.shape)
    moved = rng.normal(size=ctrl.shape)

    def loss(h):
        batch.set_state(q, v)
        batch.step(ctrl + h * moved)
        return (batch.v * dv).sum(axis=1)

    differences = (loss(1e-5) - loss(-1e-5)) / 2e-5
    loss(0)
    found = (batch.vjp(None, dv).ctrl * moved).sum(axis=1)
    assert found == pytest.approx(differences, rel=1e-5)
    assert np.abs(found).max() > 1e-3, "a loss that controls do not change proves nothing"


def test_a_kept_step_outlives_its_batch_s_next_steps(batch):
    q, v, ctrl = start(batch)
    batch.keep_steps(True)
    batch.step(ctrl)
    dv = np.ones_like(v)
    expected = batch.vjp(None, dv)
    kept = batch.kept_step()
    batch.step(-ctrl, steps=5)
    batch.reset()
    found = kept.vjp(None, dv)
    assert found.ctrl == pytest.approx(expected.ctrl, rel=1e-7, abs=1e-10)
    assert kept.bytes > 0


def test_without_a_kept_step_there_is_no_derivative(batch):
    batch.step()
    with pytest.raises(RuntimeError, match="keep"):
        batch.jacobian(0)
    with pytest.raises(RuntimeError, match="keep"):
        batch.vjp()
    batch.keep_steps(True)
    batch.step()
    with pytest.raises(IndexError, match="world 3"):
        batch.jacobian(3)
    with pytest.raises(ValueError, match="dv: expected an array of shape"):
        batch.vjp(None, np.zeros((2, 9)))
    with pytest.raises(ValueError, match="finite"):
        batch.vjp(None, np.full((3, 9), np.nan))


def test_derivatives_by_parameters_are_those_of_central_differences(batch):
    q, v, ctrl = start(batch)
    batch.keep_steps(True)
    mass = batch.parameter("body_mass", "torso", 0)[0]

    def stepped(value):
        batch.set_parameter("body_mass", "torso", np.full((3, 1), value))
        batch.set_state(q, v)
        batch.step(ctrl)
        return batch.v[0]

    h = 1e-4 * mass
    differences = (stepped(mass + h) - stepped(mass - h)) / (2 * h)
    stepped(mass)
    found = batch.parameter_derivatives(0, [("body_mass", "torso"), "timestep"])
    assert found.valid and found.dv.shape == (batch.model.n_v, 2) == found.dq.shape
    assert found.dv[:, 0] == pytest.approx(differences, rel=1e-4, abs=1e-7 * np.abs(differences).max())
    assert np.abs(differences).max() > 1e-4, "a velocity that a mass does not change proves nothing"
    with pytest.raises(TypeError, match="two geoms"):
        batch.parameter_derivatives(0, [("geom_friction", "floor")])
    with pytest.raises(ValueError, match="no body"):
        batch.parameter_derivatives(0, [("body_mass", "nothing")])


def test_products_go_through_activations(muscles):
    act, ctrl = np.array([[0.3], [0.6]]), np.array([[0.8], [0.1]])
    muscles.keep_steps(True)
    muscles.set_state(act=act)
    assert (muscles.act == act).all()
    muscles.step(ctrl)
    dv, dact = np.ones((2, 1)), np.array([[0.5], [-2.0]])
    found = muscles.vjp(None, dv, dact)
    kept = muscles.kept_step().vjp(None, dv, dact)
    assert found.valid.all() and found.act.shape == (2, 1)
    for world in range(2):
        jacobian = muscles.jacobian(world)
        assert jacobian.dv_dact.shape == (1, 1) and abs(jacobian.dv_dact[0, 0]) > 1e-3
        for name in ["ctrl", "act"]:
            expected = jacobian[f"dv_d{name}"].T @ dv[world] + jacobian[f"dact_d{name}"].T @ dact[world]
            assert found[name][world] == pytest.approx(expected, rel=1e-12)
            assert kept[name][world] == pytest.approx(expected, rel=1e-12)


def test_tendons_and_muscles_have_parameters(muscles):
    muscles.keep_steps(True)
    start = {"q": np.full((2, 1), 0.2), "v": np.full((2, 1), -0.4), "act": np.full((2, 1), 0.3)}

    def stepped(name, of, values):
        muscles.set_parameter(name, of, np.full((2, 1), values))
        muscles.set_state(**start)
        muscles.step()
        return muscles.v[0]

    for name, of in [("tendon_stiffness", "string"), ("tendon_damping", "string"), ("muscle_force", "muscle")]:
        value = muscles.parameter(name, of, 0)[0]
        h = 1e-5 * value
        differences = (stepped(name, of, value + h) - stepped(name, of, value - h)) / (2 * h)
        stepped(name, of, value)
        found = muscles.parameter_derivatives(0, [(name, of)])
        assert found.valid and found.dact.shape == (1, 1) and np.abs(differences).max() > 1e-6, name
        assert found.dv[:, 0] == pytest.approx(differences, rel=1e-5), name
    with pytest.raises(ValueError, match="no tendon"):
        muscles.parameter("tendon_stiffness", "rope", 0)
    with pytest.raises(ValueError, match="no such part"):
        muscles.parameter("tendon_range", "string", 0)
