"""``jax._src.public_test_util``: what libraries compare arrays with in their tests."""

import numpy as np
import rabbet as rb

from rabbet_jax.overlay.test_util import check_grads, check_jvp, check_vjp

BY_NAME = {
    "float64": 1e-15,
    "complex128": 1e-15,
    "float32": 1e-6,
    "complex64": 1e-6,
    "float16": 1e-3,
    "bfloat16": 1e-2,
    "float4_e2m1fn": 1.0,
    "float8_e8m0fnu": 1.0,
}


def _tolerance_of(dtype):
    """What is allowed for one number. Without 64 bits, numbers of 64 bits are as near as those of 32."""
    if not rb.dtypes.issubdtype(dtype, np.inexact):
        return 0.0
    name = rb.dtypes.canonicalize_dtype(dtype).name
    return BY_NAME.get(name, 0.1)


def _chosen(tolerance, *dtypes):
    """The larger one of two dtypes. ``tolerance`` is None, a number, or numbers by dtype."""
    if tolerance is None:
        tolerance = {}
    if not isinstance(tolerance, dict):
        return tolerance
    given = {np.dtype(dtype): value for dtype, value in tolerance.items()}
    return max(given.get(dtype, _tolerance_of(dtype)) for dtype in dtypes)


def check_close(xs, ys, atol=None, rtol=None, err_msg=""):
    """Raise an AssertionError unless two trees have the same shapes and nearly the same numbers.

    The tolerances are for one number; an array of n has n times as much.
    """

    def compare(x, y):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape, f"shapes {x.shape} and {y.shape} {err_msg}"
        relative, absolute = [_chosen(tolerance, x.dtype, y.dtype) * x.size for tolerance in (rtol, atol)]
        wide = [a.astype("float32") if a.dtype.kind == "V" else a for a in (x, y)]  # bfloat16 and its like
        np.testing.assert_allclose(wide[0], wide[1], rtol=relative, atol=absolute, err_msg=err_msg)

    rb.tree.map(compare, xs, ys)


__all__ = ["check_close", "check_grads", "check_jvp", "check_vjp"]
