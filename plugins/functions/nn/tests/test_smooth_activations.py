"""Derivatives of ``silu``, ``mish`` and ``gelu`` of each order, beside mpmath, by relative error: near 0, in
the middle, and where the value is its limit to the last digit.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.nn as nn
from rabbet import dtypes

pytestmark = pytest.mark.needs("grad", "vmap", "jit")

SIZES = [1e-30, 1e-10, 1e-4, 0.01, 0.3, 0.7, 1.7, 2.9, 4.3, 6.1, 7.3, 8.9, 15, 17.5, 25, 60, 95]
X = [sign * x for x in SIZES for sign in (-1, 1)]
ENDS = [-np.inf, -1e30, -1e4, 1e4, 1e30, np.inf]
LIMITS = [0, 0, 0, 1, 1, 1], [0] * 6, [0] * 6  # of the derivatives of order 1, 2, 3

ORDERS = {
    "reverse": (1, lambda f: rb.grad(f)),
    "forward": (1, lambda f: rb.jacfwd(f)),
    "reverse over reverse": (2, lambda f: rb.grad(rb.grad(f))),
    "forward over reverse": (2, lambda f: rb.jacfwd(rb.grad(f))),
    "third": (3, lambda f: rb.jacfwd(rb.grad(rb.grad(f)))),
}


def formula(name):
    mp = pytest.importorskip("mpmath")

    def logistic(x):
        return 1 / (1 + mp.exp(-x))

    def gelu(x):
        return x * logistic(2 * mp.sqrt(2 / mp.pi) * x * (1 + mp.mpf("0.044715") * x * x))

    return {
        "silu": lambda x: x * logistic(x),
        "mish": lambda x: x * mp.tanh(mp.log1p(mp.exp(x))),
        "gelu": gelu,
    }[name]


def exact(name, x, order):
    """The derivative, by differences in very many digits."""
    mp = pytest.importorskip("mpmath")
    digits = 120 + int(min(abs(x) ** 3 / 16 if name == "gelu" else abs(x), 400))
    with mp.workdps(digits):
        return mp.diff(formula(name), mp.mpf(float(x)), order, h=mp.mpf(10) ** -40)


def roundings(name, x):
    """How many may be lost: that of ``u`` in gelu's tail, ``exp(u)``, makes up to ``|u|`` of them."""
    return 80 + (abs(1.6 * x + 0.0714 * x**3) if name == "gelu" else 0)


@pytest.mark.parametrize("way", ORDERS)
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", pytest.param("bfloat16", marks=pytest.mark.needs("bfloat16"))]
)
@pytest.mark.parametrize("name", ["silu", "mish", "gelu"])
def test_derivatives_are_right_by_relative_error(name, dtype, way):
    order, transformed = ORDERS[way]
    with rb.config.override(enable_x64=True):
        x = np.array(X, np.dtype(getattr(dtypes, dtype, dtype)))
        info = dtypes.finfo(x.dtype)
        found = np.asarray(rb.jit(rb.vmap(transformed(getattr(nn, name))))(x)).astype("float64")
    wanted = [exact(name, v, order) for v in x.astype("float64")]
    least = float(info.tiny) * 100  # what is smaller may be 0 on a CPU
    for at, value, right in zip(x, found, wanted, strict=True):
        error = abs(float(value - right))
        allowed = abs(float(right)) * float(info.eps) * roundings(name, float(at))
        assert error <= max(allowed, least), (at, value, float(right))


@pytest.mark.forbidden("debug_infs")
@pytest.mark.parametrize("way", ORDERS)
@pytest.mark.parametrize("name", ["silu", "mish", "gelu"])
def test_far_out_the_derivatives_are_their_limits(name, way):
    order, transformed = ORDERS[way]
    function = getattr(nn, name)
    x = np.array(ENDS, "float32")
    np.testing.assert_array_equal(rb.jit(rb.vmap(transformed(function)))(x), LIMITS[order - 1])
    np.testing.assert_array_equal(function(x), np.maximum(x, 0))


@pytest.mark.parametrize("name", ["silu", "mish", "gelu"])
def test_reverse_mode_keeps_one_array(name):
    """The slope: not the number as well, and not the parts of the product."""
    x = np.linspace(-1, 1, 1000, dtype="float32")
    _, backward = rb.vjp(getattr(nn, name), x)
    kept = [leaf for leaf in rb.tree.leaves(backward) if getattr(leaf, "size", 0) == 1000]
    assert len(kept) <= 1, kept
