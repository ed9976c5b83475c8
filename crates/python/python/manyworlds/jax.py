"""Steps with gradients for JAX.

    q, v = manyworlds.jax.step(batch, q, v, ctrl)       # under jit and grad as well
"""

import functools

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("manyworlds.jax needs JAX: pip install jax") from error
import numpy as np

__all__ = ["step"]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def step(batch, q, v, ctrl):
    """One step of all worlds of a batch of one model, from q and v, as a differentiable function.

    q `(worlds, n_q)`, v `(worlds, n_v)`, ctrl `(worlds, n_u)`. Gives q and v after the step. The step is a call back to the
    host, a function of the arguments alone: impulses of the step before are not remembered. Going back takes the step again.
    JAX has double precision only with `jax_enable_x64`; without it use a batch in "f32". `vmap` is not supported: a batch has
    its number of worlds.
    """
    return _call(batch, _step, _outputs(batch), q, v, ctrl)


def _forward(batch, q, v, ctrl):
    return step(batch, q, v, ctrl), (q, v, ctrl)


def _backward(batch, given, gradients):
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in given]
    return _call(batch, _vjp, shapes, *given, *gradients)


step.defvjp(_forward, _backward)


def _real(batch):
    return np.dtype(np.float32 if batch.precision == "f32" else np.float64)


def _outputs(batch):
    real, model = _real(batch), batch.model
    if jnp.zeros(0, real).dtype != real:
        raise ValueError("precision: double precision needs jax.config.update('jax_enable_x64', True), or a batch in \"f32\"")
    return [jax.ShapeDtypeStruct((len(batch), n), real) for n in (model.n_q, model.n_v)]


def _call(batch, function, shapes, *arguments):
    return tuple(jax.pure_callback(functools.partial(function, batch), shapes, *arguments))


def _step(batch, q, v, ctrl):
    real = _real(batch)
    batch.set_state(np.asarray(q, real), np.asarray(v, real))
    batch.step(np.asarray(ctrl, real))
    return [batch.q, batch.v]


def _vjp(batch, q, v, ctrl, by_q, by_v):
    batch.keep_steps(True)
    end, _ = _step(batch, q, v, ctrl)
    found = batch.vjp(batch.to_tangent(end, np.asarray(by_q)), np.asarray(by_v))
    gradients = (batch.from_tangent(np.asarray(q), found.q), found.v, found.ctrl)
    return [np.asarray(array, given.dtype) for array, given in zip(gradients, (q, v, ctrl))]
