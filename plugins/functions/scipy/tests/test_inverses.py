"""Inverses of distribution functions: values, and derivatives, which are implicit ones."""

import math

import mpmath
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.special as sp
from rabbet.scipy import special

RNG = np.random.default_rng(5)
N = 40
SHAPE, OTHER = np.exp(RNG.uniform(-2, 6, (2, N)))
PART = np.where(RNG.uniform(size=N) < 0.5, RNG.uniform(0.01, 0.99, N), np.exp(RNG.uniform(-60, -2, N)))
CASES = {
    "betaincc": (SHAPE, OTHER, np.clip(SHAPE / (SHAPE + OTHER), 0.02, 0.98)),
    "betainccinv": (SHAPE, OTHER, PART),
    "betaincinv": (SHAPE, OTHER, PART),
    "gammainccinv": (SHAPE, PART),
    "gammaincinv": (SHAPE, PART),
    "stdtr": (SHAPE, RNG.uniform(-6, 6, N)),
    "stdtrit": (np.maximum(SHAPE, 1.0), PART),
}


def wide(*args):
    return [rnp.asarray(np.asarray(x, "float64"), "float64") for x in args]


def often(names, *kept):
    """Cases of which all but some are long to compile and show little more than those."""
    return [name if name in kept else pytest.param(name, marks=pytest.mark.exhaustive) for name in names]


@pytest.mark.parametrize("name", often(CASES, "betaincinv", "gammaincinv", "gammainccinv", "stdtrit"))
def test_values(name):
    found = np.asarray(getattr(special, name)(*wide(*CASES[name])))
    np.testing.assert_allclose(found, getattr(sp, name)(*CASES[name]), rtol=1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_values_in_single_precision(name):
    args = [np.clip(x, 1e-3, None).astype("f4") if name != "stdtr" else x.astype("f4") for x in CASES[name]]
    wanted = getattr(sp, name)(*[x.astype("f8") for x in args])
    fine = (np.abs(wanted) > 1e-36) & (np.abs(wanted) < 1e36)
    found = getattr(special, name)(*args)
    assert found.dtype == "float32"
    np.testing.assert_allclose(np.asarray(found)[fine], wanted[fine], rtol=5e-5)


def five_points(function, args, i):
    h = 1e-3 * np.minimum(1.0, args[i])

    def at(k):
        return function(*args[:i], args[i] + k * h, *args[i + 1 :])

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


MODERATE = {
    "betaincc": ([0.7, 2.0], [1.5, 4.0], [0.3, 0.6]),
    "betainccinv": ([0.7, 2.0], [1.5, 4.0], [0.3, 0.6]),
    "betaincinv": ([0.7, 2.0], [1.5, 4.0], [0.3, 0.6]),
    "gammainccinv": ([0.7, 4.0], [0.3, 0.6]),
    "gammaincinv": ([0.7, 4.0], [0.3, 0.6]),
    "stdtr": ([1.5, 4.0], [0.7, 2.5]),
    "stdtrit": ([1.5, 4.0], [0.3, 0.9]),
}


@pytest.mark.needs("jit")
@pytest.mark.parametrize("name", often(MODERATE, "betaincinv", "gammaincinv"))
def test_derivatives_by_every_argument(name):
    args = [np.array(x) for x in MODERATE[name]]
    function, by = getattr(special, name), tuple(range(len(args)))
    last = len(args) - 1

    @rb.jit
    def slopes(*args):
        # Forward over reverse: both modes, and the second derivative by the last argument.
        def gradient(x):
            return rb.grad(lambda *a: function(*a).sum(), by)(*args[:-1], x)

        backward, second = rb.jvp(gradient, args[-1:], (rnp.ones_like(args[-1]),))
        return backward, second[-1]

    backward, second = slopes(*wide(*args))
    wanted = [five_points(getattr(sp, name), args, i) for i in by]
    for found, want in zip(backward, wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-7)
    slope_of_last = lambda *a: five_points(getattr(sp, name), list(a), last)
    np.testing.assert_allclose(second, five_points(slope_of_last, args, last), rtol=1e-5)


@pytest.mark.exhaustive
@pytest.mark.needs("jit")
def test_a_sample_moves_with_its_shape_as_its_quantile_does():
    """``random.gamma`` and ``gammaincinv`` have the same derivative by the shape: that of the quantile."""
    a, x = wide(2.5, 1.7)
    slope = rb.grad(lambda a: special.gammaincinv(a, rb.lax.stop_gradient(special.gammainc(2.5, x))))(a)
    np.testing.assert_allclose(float(slope), float(rb.lax.random_gamma_grad(a, x)), rtol=1e-6)


@pytest.mark.exhaustive
@pytest.mark.needs("jit", "vmap")
def test_mapped_calls_and_half_types():
    a, p = SHAPE[:5].astype("f4"), np.linspace(0.1, 0.9, 5).astype("f4")
    eager = np.asarray(special.gammaincinv(a, p))
    np.testing.assert_allclose(rb.vmap(special.gammaincinv)(a, p), eager, rtol=1e-6)
    np.testing.assert_allclose(rb.jit(special.gammaincinv)(a, p), eager, rtol=1e-6)
    assert special.gammaincinv(rnp.float16(2), rnp.float16(0.5)).dtype == "float16"


INF, NAN = math.inf, math.nan
CORNERS = {
    "gammaincinv": [(1, 0, 0), (1, 1, INF), (1, -0.1, NAN), (1, 1.1, NAN), (-1, 0.5, NAN), (NAN, 0.5, NAN),
                    (0.001, 1e-30, 0)],
    "gammainccinv": [(1, 0, INF), (1, 1, 0), (1, -0.1, NAN), (2, NAN, NAN)],
    "betaincinv": [(1, 2, 0, 0), (1, 2, 1, 1), (1, 2, 1.1, NAN), (-1, 2, 0.5, NAN), (2, 2, 0.5, 0.5)],
    "betainccinv": [(1, 2, 0, 1), (1, 2, 1, 0), (1, 2, NAN, NAN)],
    "stdtr": [(3, INF, 1), (3, -INF, 0), (3, 0, 0.5), (-1, 1, NAN)],
    "stdtrit": [(3, 0, -INF), (3, 1, INF), (3, 0.5, 0), (3, -0.1, NAN), (-1, 0.5, NAN)],
}  # fmt: skip


@pytest.mark.parametrize("name", often(CORNERS, "betaincinv", "gammaincinv", "gammainccinv", "stdtrit"))
def test_ends(name):
    *args, wanted = np.array((CORNERS[name] * N)[:N], float).T  # of the shape of the values above
    np.testing.assert_allclose(np.asarray(getattr(special, name)(*wide(*args))), wanted, rtol=1e-15)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@rb.enable_x64(True)
def test_the_complement_of_the_incomplete_beta_function_beside_zero():
    """Where ``1 - x`` is 1, and beyond the interval."""
    with mpmath.workdps(40):
        for a, b, x in ((1e-10, 1e-10, 1e-10), (0.01, 2.0, 1e-20), (3.0, 4.0, 1e-30), (2.0, 5.0, 0.3)):
            wanted = float(1 - mpmath.betainc(a, b, 0, x, regularized=True))
            for dtype, bound in (("float64", 1e-13), ("float32", 2e-5)):
                found = special.betaincc(*(rb.numpy.asarray(v, dtype) for v in (a, b, x)))
                np.testing.assert_allclose(found, wanted, rtol=bound, err_msg=str((a, b, x, dtype)))
    assert np.isnan(special.betaincc(30.5, 1.5, -1e-20))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_inverse_of_the_incomplete_beta_function_at_tiny_and_huge_shapes(dtype):
    """Of mpmath; a quantile that is too small a number is as good as 0."""
    a, b, y = [1e-10, 1e-3, 30.5, 1e-3, 1e30], [1.0, 2.5, 1e10, 1e9, 1e30], [0.9, 0.9, 0.9, 0.5, 0.25]
    wanted = np.array([0.0, 4.860728554e-47, 3.77570446e-9, 0.0, 0.5])
    with rb.config.override(enable_x64=True):
        found = np.asarray(special.betaincinv(*[rb.numpy.asarray(v, dtype) for v in (a, b, y)]))
    least, near = (2e-38, 2e-6) if dtype == "float32" else (1e-300, 3e-9)
    np.testing.assert_allclose(found, wanted, rtol=near, atol=least)
