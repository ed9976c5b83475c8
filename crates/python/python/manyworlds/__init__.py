"""Robots in exact contact: thousands of worlds stepped together, with gradients.

    import manyworlds as mw
    model = mw.load("half-cheetah")            # a file (.xml, .urdf) or a built-in scene
    batch = mw.Batch(model, 256)               # 256 worlds of it
    batch.step(ctrl)                           # ctrl: array (256, model.n_u)
    batch.q, batch.v                           # arrays (256, model.n_q), (256, model.n_v)
    batch.certificates.residual                # how well contact was solved in each world, N s

Arrays are float32 or float64 as the batch's precision, the first axis the world; whatever takes an array takes numpy,
nested lists, or anything with DLPack (torch, jax). All numbers are SI; states follow MuJoCo's conventions.

    batch.render(0)                            # a picture of world 0, array (480, 640, 3) of uint8
    batch.observe(width=64, height=64).depth   # what a camera sees in every world
    mw.show(batch)                             # the picture in a notebook

    mw.torch.step(batch, q, v, ctrl)           # a step with gradients, for PyTorch
    mw.jax.step(batch, q, v, ctrl)             # the same for JAX
    gymnasium.make_vec("manyworlds/HalfCheetah-v0", num_envs=256, vectorization_mode="vector_entry_point")
"""

import importlib as _importlib
import importlib.util

from manyworlds._core import Batch, KeptStep, Model, load, scenes
from manyworlds._record import Record
from manyworlds._show import show
from manyworlds._solve import solve

__all__ = ["Batch", "KeptStep", "Model", "Record", "load", "scenes", "show", "solve"]

_EXTRAS = {"torch", "jax", "sb3", "rllib", "rsl_rl", "unisim"}


def __getattr__(name):
    if name in _EXTRAS:
        return _importlib.import_module("manyworlds." + name)
    raise AttributeError(f"module 'manyworlds' has no attribute {name!r}")


def _load_again(path, ground, free_root, merge_fixed, ignore_unsupported):
    """Reads a model in another process, as it was read here."""
    return load(path, ground, free_root, merge_fixed=merge_fixed, ignore_unsupported=ignore_unsupported)


if _importlib.util.find_spec("gymnasium") is not None:
    from manyworlds import gymnasium

    gymnasium.register()
