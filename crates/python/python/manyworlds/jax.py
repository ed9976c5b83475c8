"""Steps with gradients for JAX.

    q, v = manyworlds.jax.step(batch, q, v, ctrl)               # under jit and grad as well
    q, v, act = manyworlds.jax.step(batch, q, v, ctrl, act)     # of a model whose actuators have activations
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
def step(batch, q, v, ctrl, act=None):
    """One step of all worlds of a batch of one model, from q, v and act, as a differentiable function.

    q `(worlds, n_q)`, v `(worlds, n_v)`, ctrl `(worlds, n_u)`, act `(worlds, n_act)`. Gives q and v after the step, and act
    where that is given; else activations are those that the batch has, and count as constant. The step is a call back to the
    host, a function of the arguments alone: impulses of the step before are not remembered. Going back takes the step again.
    JAX has double precision only with `jax_enable_x64`; without it use a batch in "f32". `vmap` is not supported: a batch has
    its number of worlds.
    """
    return _call(batch, _step, _outputs(batch, act is not None), q, v, ctrl, act)


def _forward(batch, q, v, ctrl, act=None):
    return step(batch, q, v, ctrl, act), (q, v, ctrl, act)


def _backward(batch, given, gradients):
    shapes = [x if x is None else jax.ShapeDtypeStruct(x.shape, x.dtype) for x in given]
    return _call(batch, _vjp, shapes, given, gradients)


step.defvjp(_forward, _backward)


def _real(batch):
    return np.dtype(np.float32 if batch.precision == "f32" else np.float64)


def _outputs(batch, has_act):
    real, model = _real(batch), batch.model
    if jnp.zeros(0, real).dtype != real:
        raise ValueError("precision: double precision needs jax.config.update('jax_enable_x64', True), or a batch in \"f32\"")
    widths = [model.n_q, model.n_v] + ([batch.act.shape[1]] if has_act else [])
    return [jax.ShapeDtypeStruct((len(batch), n), real) for n in widths]


def _call(batch, function, shapes, *arguments):
    return tuple(jax.pure_callback(functools.partial(function, batch), shapes, *arguments))


def _step(batch, q, v, ctrl, act):
    real = _real(batch)
    batch.set_state(np.asarray(q, real), np.asarray(v, real), act=None if act is None else np.asarray(act, real))
    batch.step(np.asarray(ctrl, real))
    return [batch.q, batch.v] + ([] if act is None else [batch.act])


def _vjp(batch, given, gradients):
    batch.keep_steps(True)
    end = _step(batch, *given)[0]
    by_q, *others = (np.asarray(gradient) for gradient in gradients)
    found = batch.vjp(batch.to_tangent(end, by_q), *others)
    found = (batch.from_tangent(np.asarray(given[0]), found.q), found.v, found.ctrl, found.act)
    return [x if x is None else np.asarray(array, x.dtype) for array, x in zip(found, given)]
