"""Activations of 16 and 8 bits over all numbers, and of single precision far out, beside exact values."""

import math

import numpy as np
import pytest
import rabbet as rb
import rabbet.nn as nn
from rabbet import dtypes

pytestmark = pytest.mark.needs("grad", "vmap", "jit")

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


def erfc(x):
    return np.vectorize(math.erfc)(x)


def by_tanh(x):
    u = 2 * math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x)
    steep = 2 * math.sqrt(2 / math.pi) * x * (1 + 3 * 0.044715 * x * x)
    return x * sigmoid(u), sigmoid(u) * (1 + steep * sigmoid(-u))


def mish(x):
    t = np.tanh(np.logaddexp(x, 0))
    return x * t, t + x * sigmoid(x) / np.cosh(np.minimum(np.logaddexp(x, 0), 300)) ** 2


def squareplus(x):
    root = np.sqrt(x * x + 4)
    value = np.where(x < 0, 2 / (root + np.abs(x)), (x + root) / 2)
    return value, value / root


def between(x, low, high, inside):
    return np.where(x <= low, 0, np.where(x >= high, 1, inside))


# Value and slope; the places of kinks, whose slope is a choice.
EXACT = {
    "silu": (lambda x: (x * sigmoid(x), sigmoid(x) * (1 + x * sigmoid(-x))), ()),
    "mish": (mish, ()),
    "gelu": (by_tanh, ()),
    "exact gelu": (
        lambda x: (
            x * erfc(-x / 2**0.5) / 2,
            erfc(-x / 2**0.5) / 2 + x * np.exp(-x * x / 2) / (2 * np.pi) ** 0.5,
        ),
        (),
    ),
    "selu": (
        lambda x: (
            SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0))),
            SCALE * np.where(x > 0, 1, ALPHA * np.exp(np.minimum(x, 0))),
        ),
        (0,),
    ),
    "soft_sign": (lambda x: (x / (1 + abs(x)), 1 / (1 + abs(x)) ** 2), ()),
    "hard_sigmoid": (lambda x: (np.clip(x + 3, 0, 6) / 6, np.where(np.abs(x) < 3, 1 / 6, 0)), (-3, 3)),
    "hard_silu": (lambda x: (x * np.clip(x + 3, 0, 6) / 6, between(x, -3, 3, (2 * x + 3) / 6)), (-3, 3)),
    "squareplus": (squareplus, ()),
    "sparse_plus": (
        lambda x: (between(x, -1, 1, (x + 1) ** 2 / 4) * np.maximum(x, 1), between(x, -1, 1, (x + 1) / 2)), ()
    ),
    "sparse_sigmoid": (lambda x: (np.clip(x + 1, 0, 2) / 2, np.where(np.abs(x) < 1, 0.5, 0)), (-1, 1)),
}  # fmt: skip
FAR = {  # what they are at -inf and inf
    "silu": (0, np.inf), "mish": (0, np.inf), "gelu": (0, np.inf), "exact gelu": (0, np.inf),
    "selu": (-ALPHA * SCALE, np.inf), "soft_sign": (-1, 1), "hard_sigmoid": (0, 1), "hard_silu": (0, np.inf),
    "sparse_plus": (0, np.inf), "sparse_sigmoid": (0, 1), "squareplus": (0, np.inf),
}  # fmt: skip


def named(name):
    return (lambda x: nn.gelu(x, approximate=False)) if name == "exact gelu" else getattr(nn, name)


def all_numbers(dtype):
    bits = dtypes.itemsize_bits(dtype)
    x = np.arange(2**bits, dtype=f"uint{bits}").view(dtype)
    with np.errstate(invalid="ignore"):
        return x[np.isfinite(x.astype("float64"))]


def far_by(found, wanted, dtype):
    """In units in the last place. What is below 1e-36 underflows in single precision on the way."""
    info = dtypes.finfo(dtype)
    exponent = np.floor(np.log2(np.maximum(np.abs(wanted), float(info.tiny))))
    away = np.abs(found.astype("float64") - wanted)
    away[np.abs(wanted) > 0.995 * float(info.max)] = 0  # rounded to the largest number or to infinity
    return np.max(np.where(away < 1e-36, 0, away * 2.0 ** (info.nmant - exponent)))


NEEDED = [pytest.param(d, marks=pytest.mark.needs(d)) for d in ("bfloat16", "float8_e4m3fn", "float8_e5m2")]


@pytest.mark.parametrize("dtype", ["float16", *NEEDED])
@pytest.mark.parametrize("name", EXACT)
def test_values_and_slopes_of_all_numbers_are_near_the_exact_ones(name, dtype):
    x, function = all_numbers(np.dtype(getattr(dtypes, dtype, dtype))), named(name)
    with np.errstate(all="ignore"):
        exact, kinks = EXACT[name]
        value, slope = exact(x.astype("float64"))
    wide = x.astype("float64")
    wide[np.abs(wide) < 1.2e-38] = 0  # as on a CPU
    smooth = ~np.isin(wide, kinks)
    found, steep = rb.jit(function)(x), rb.jit(rb.vmap(rb.grad(function)))(x)
    assert found.dtype == steep.dtype == x.dtype
    assert far_by(np.asarray(found), value, x.dtype) < 0.75
    assert far_by(np.asarray(steep)[smooth], slope[smooth], x.dtype) < 0.75


@pytest.mark.forbidden("debug_infs")
@pytest.mark.parametrize("dtype", ["float16", NEEDED[0]])
@pytest.mark.parametrize("name", [n for n in FAR if n != "squareplus"])
def test_half_types_at_infinity(name, dtype):
    ends = np.array([-np.inf, np.inf], np.dtype(getattr(dtypes, dtype, dtype)))
    np.testing.assert_allclose(np.asarray(named(name)(ends)).astype("f8"), FAR[name], rtol=4e-3)
    assert np.isfinite(np.asarray(rb.vmap(rb.grad(named(name)))(ends)).astype("f8")).all()


WAYS = {"reverse": "grad", "forward": "jacfwd"}


@pytest.mark.forbidden("debug_infs")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("approximate", [True, False])
def test_gelu_far_out_has_its_slope_and_its_tail(approximate, way):
    def gelu(x):
        return nn.gelu(x, approximate=approximate)

    x = np.array([-np.inf, -1e38, -2e19, -1e4, -9, -7, -5, -1, 0, 3, 9, 1e4, 2e19, 3e38, np.inf], "float32")
    wide = np.clip(x.astype("float64"), -50, 1e30)
    with np.errstate(all="ignore"):
        value, slope = EXACT["gelu" if approximate else "exact gelu"][0](wide)
    slope[wide > 50] = 1
    value[wide > 50] = x[wide > 50]
    np.testing.assert_allclose(gelu(x), value, rtol=2e-5, atol=1e-36)
    np.testing.assert_allclose(rb.vmap(getattr(rb, WAYS[way])(gelu))(x), slope, rtol=2e-5, atol=1e-36)


@pytest.mark.parametrize("way", WAYS)
def test_the_slope_of_squareplus_far_out(way):
    x = np.array([-1e18, -1e15, -1e13, -1e12, -1e6, -2, -1, 0, 1, 2, 1e6, 1e19, 1e38, 3e38], "float32")
    wanted = squareplus(x.astype("float64"))
    np.testing.assert_allclose(nn.squareplus(x), wanted[0], rtol=1e-6)
    np.testing.assert_allclose(rb.vmap(getattr(rb, WAYS[way])(nn.squareplus))(x), wanted[1], rtol=1e-6)
    slope = getattr(rb, WAYS[way])(nn.squareplus, 1)(np.float32(-1e9), 4.0)
    np.testing.assert_allclose(slope, 2.5e-10, rtol=1e-6)
