"""Arrays of other kinds as those that the compiled part reads."""

import numpy as np


def as_array(value, shape, dtype, name):
    """`value` as a C-contiguous numpy array of this shape and type; copied only where it is not one already."""
    if not isinstance(value, np.ndarray):
        # DLPack shares memory; what lies on a GPU or wants a gradient refuses, and says so.
        value = np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)
    shape = tuple(shape)
    if value.shape != shape:
        raise ValueError(f"{name}: expected an array of shape {shape}, found {value.shape}")
    if not np.can_cast(value.dtype, dtype, "same_kind"):
        raise TypeError(f"{name}: expected numbers of type {dtype}, found {value.dtype}")
    return np.require(value, dtype, ["C", "ALIGNED"])
