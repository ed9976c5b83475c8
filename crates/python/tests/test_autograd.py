"""Steps within PyTorch and JAX against central differences. Each needs its package, and says so where that is absent."""

import sys

import manyworlds as mw
import numpy as np
import pytest

STEPS = 3


@pytest.fixture(params=["half-cheetah", "ant"])
def batch(request):
    """Two worlds that touch the ground; an ant has a quaternion."""
    model = mw.load(request.param)
    return mw.Batch(model, 2, executor="cpu", precision="f64", tolerance=1e-12, iterations=1000)


def a_start(batch):
    """A state from which something touches, and controls for some steps, none of them near a switch of a contact's law or at
    a gap just closed: there a step has a kink, and differences see both of its sides."""
    rng = np.random.default_rng(1)
    model = batch.model
    shape = (len(batch), model.n_u)
    batch.keep_steps(True)
    for _ in range(200):
        q, v, ctrl = batch.q, batch.v, rng.uniform(-0.5, 0.5, (STEPS, *shape))
        smooth, contacts = True, 0
        for action in ctrl:
            batch.set_state(batch.q, batch.v)
            batch.step(action)
            contacts += batch.certificates.contacts.sum()
            looks = [batch.jacobian(world) for world in range(len(batch))]
            smooth = smooth and all(look.valid and look.closed == 0 and look.margin > 1e-3 for look in looks)
            acting = any(mode != "breaking" for look in looks for mode in look.mode)
        if smooth and acting:
            return q, v, ctrl
    raise AssertionError("no start found")


def differences(loss, arrays, directions, h=1e-6):
    """Of a loss along a direction of each array."""
    found = []
    for i, direction in enumerate(directions):
        moved = [[x + sign * h * direction if k == i else x for k, x in enumerate(arrays)] for sign in (1, -1)]
        found.append((loss(*moved[0]) - loss(*moved[1])) / (2 * h))
    return found


def check(batch, loss, gradient):
    """Gradients along directions, beside differences of the loss; a quaternion is only moved at right angles to it."""
    rng = np.random.default_rng(2)
    arrays = a_start(batch)
    directions = [rng.normal(size=x.shape) for x in arrays]
    expected = differences(loss, arrays, directions)
    found = [float((by * direction).sum()) for by, direction in zip(gradient(*arrays), directions)]
    assert max(abs(x) for x in expected) > 0.1
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


def weights(batch):
    rng = np.random.default_rng(5)
    return rng.normal(size=batch.q.shape), rng.normal(size=batch.v.shape)


def test_torch(batch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: mw.torch.step is NOT tested")
    by_q, by_v = (torch.from_numpy(w) for w in weights(batch))

    def play(q, v, ctrl):
        for action in ctrl:
            q, v = mw.torch.step(batch, q, v, action)
        return (by_q * q).sum() + (by_v * v).sum()

    def loss(*arrays):
        return float(play(*(torch.from_numpy(x) for x in arrays)))

    def gradient(*arrays):
        tensors = [torch.from_numpy(x).requires_grad_() for x in arrays]
        play(*tensors).backward()
        return [x.grad.numpy() for x in tensors]

    check(batch, loss, gradient)
    with pytest.raises(ValueError, match="ctrl: expected an array of shape"):
        mw.torch.step(batch, *(torch.from_numpy(x) for x in (batch.q, batch.v)), torch.zeros(3))


def test_jax(batch):
    jax = pytest.importorskip("jax", reason="JAX is not installed: mw.jax.step is NOT tested")
    jax.config.update("jax_enable_x64", True)
    by_q, by_v = weights(batch)

    def play(q, v, ctrl):
        for action in ctrl:
            q, v = mw.jax.step(batch, q, v, action)
        return (by_q * q).sum() + (by_v * v).sum()

    jitted = jax.jit(jax.grad(play, argnums=(0, 1, 2)))
    check(batch, lambda *arrays: float(play(*arrays)), lambda *arrays: [np.asarray(g) for g in jitted(*arrays)])


def muscle_start():
    """q, v, act, and controls of some steps."""
    start = [np.full((2, 1), x) for x in (0.2, -0.4, 0.3)]
    return [*start, np.array([0.8, 0.6, 0.7]).reshape(STEPS, 1, 1) * np.ones((STEPS, 2, 1))]


def check_muscles(loss, gradient):
    arrays = muscle_start()
    rng = np.random.default_rng(2)
    directions = [rng.normal(size=x.shape) for x in arrays]
    expected = differences(loss, arrays, directions)
    found = [float((by * direction).sum()) for by, direction in zip(gradient(*arrays), directions)]
    assert min(abs(x) for x in expected) > 1e-3
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_torch_goes_through_activations(muscles):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: mw.torch.step is NOT tested")

    def play(q, v, act, ctrl):
        for action in ctrl:
            q, v, act = mw.torch.step(muscles, q, v, action, act)
        return q.sum() + v.sum() + 0.5 * act.sum()

    def gradient(*arrays):
        tensors = [torch.from_numpy(x).requires_grad_() for x in arrays]
        play(*tensors).backward()
        return [x.grad.numpy() for x in tensors]

    check_muscles(lambda *arrays: float(play(*(torch.from_numpy(x) for x in arrays))), gradient)


def test_jax_goes_through_activations(muscles):
    jax = pytest.importorskip("jax", reason="JAX is not installed: mw.jax.step is NOT tested")
    jax.config.update("jax_enable_x64", True)

    def play(q, v, act, ctrl):
        for action in ctrl:
            q, v, act = mw.jax.step(muscles, q, v, action, act)
        return q.sum() + v.sum() + 0.5 * act.sum()

    jitted = jax.jit(jax.grad(play, argnums=(0, 1, 2, 3)))
    check_muscles(lambda *arrays: float(play(*arrays)), lambda *arrays: [np.asarray(g) for g in jitted(*arrays)])


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_missing_package_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"manyworlds.{name}", raising=False)
    monkeypatch.delitem(vars(mw), name, raising=False)
    with pytest.raises(ImportError, match=f"manyworlds.{name} needs .*: pip install {name}"):
        getattr(mw, name)
