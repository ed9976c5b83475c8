"""Single contact problems."""

import json

import numpy as np

from manyworlds import _core


def solve(problem, solver="auto", precision="f64", tolerance=None, iterations=None, history=False):
    """Solves a contact problem without bodies: v, lambda with A v = b + J^T lambda and the laws of contact.

    problem: a dict of arrays, as the program's contact problem files have them:
        A          (n_v, n_v), block diagonal by subsystems; or A_blocks, a list of square arrays
        b          (n_v,)
        subsystems list of (first degree of freedom, count)
        contacts   list of dicts: J (3, n_v) with rows (t1, t2, n), mu, e (3,)
        rows       list of dicts: J (n_v,), kind "bilateral", "unilateral", "soft" or "box", e, and k, b or lo, hi
    precision: "f32" or "f64", of the solver; residuals are always measured in double precision.
    tolerance: residual at which to stop, N s.

    Gives a record of v (n_v,), lambda (n_rows,) (read it as `record["lambda"]`: the word is Python's), residual (N s),
    residual_scaled (m/s), momentum_error, complementarity_error, relaxed, status, iterations, history, microseconds.

    Raises ValueError, naming the element, for a problem that is none.
    """
    if not isinstance(problem, dict):
        raise TypeError(f"problem: expected a dict, found {type(problem).__name__}")
    try:
        text = json.dumps(problem, default=_plain, allow_nan=False)
    except ValueError as error:
        raise ValueError(f"problem: expected finite numbers ({error})") from None
    return _core.solve(text, solver, precision, tolerance, iterations, history)


def _plain(value):
    """Arrays and numpy's numbers as lists and numbers."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value).tolist()
    raise TypeError(f"problem: expected numbers, arrays, lists and dicts, found {type(value).__name__}")
