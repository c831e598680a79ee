"""rabbet.scipy.special: values against SciPy, derivatives against differences of SciPy, transformations."""

import math

import mpmath as mp
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.special as sp
from rabbet.scipy import special

RNG = np.random.default_rng(7)
N = 24


def drawn(low, high):
    return RNG.uniform(low, high, N)


def wholes(low, high):
    return RNG.integers(low, high, N).astype(float)


# name: (arguments, positions of those by which it is differentiated)
CASES = {
    "beta": ((drawn(0.2, 9), drawn(0.2, 9)), (0, 1)),
    "betainc": ((drawn(0.3, 9), drawn(0.3, 9), drawn(0.05, 0.95)), (0, 1, 2)),
    "betaln": ((drawn(0.2, 90), drawn(0.2, 90)), (0, 1)),
    "boxcox": ((drawn(0.2, 3), drawn(-2, 2)), (0, 1)),
    "boxcox1p": ((drawn(0.2, 3), drawn(-2, 2)), (0, 1)),
    "comb": ((wholes(6, 20), wholes(0, 6)), ()),
    "dawsn": ((drawn(-7, 7),), (0,)),
    "digamma": ((drawn(0.3, 9),), (0,)),
    "entr": ((drawn(0.1, 3),), (0,)),
    "erf": ((drawn(-2, 2),), (0,)),
    "erfc": ((drawn(-2, 5),), (0,)),
    "erfcinv": ((drawn(0.05, 1.95),), (0,)),
    "erfcx": ((drawn(-2, 9),), (0,)),
    "erfinv": ((drawn(-0.95, 0.95),), (0,)),
    "exp1": ((drawn(0.1, 9),), (0,)),
    "expi": ((drawn(-9, 30),), (0,)),
    "expit": ((drawn(-9, 9),), (0,)),
    "expn": ((wholes(0, 6), drawn(0.1, 9)), (1,)),
    "factorial": ((drawn(0, 9),), (0,)),
    "fresnel": ((drawn(-5, 5),), (0,)),
    "gamma": ((drawn(-3.9, 9),), (0,)),
    "gammainc": ((drawn(0.3, 9), drawn(0.3, 9)), (0, 1)),
    "gammaincc": ((drawn(0.3, 9), drawn(0.3, 9)), (0, 1)),
    "gammaln": ((drawn(-3.9, 90),), (0,)),
    "hyp1f1": ((drawn(0.3, 4), drawn(0.5, 4), drawn(-8, 8)), (0, 1, 2)),
    "hyp2f1": ((drawn(0.3, 3), drawn(0.3, 3), drawn(0.5, 4), drawn(-2, 0.85)), (0, 1, 2, 3)),
    "i0": ((drawn(-9, 9),), (0,)),
    "i0e": ((drawn(-9, 9),), (0,)),
    "i1": ((drawn(-9, 9),), (0,)),
    "i1e": ((drawn(-9, 9),), (0,)),
    "kl_div": ((drawn(0.1, 3), drawn(0.1, 3)), (0, 1)),
    "log_ndtr": ((drawn(-30, 5),), (0,)),
    "logit": ((drawn(0.05, 0.95),), (0,)),
    "ndtr": ((drawn(-9, 5),), (0,)),
    "ndtri": ((drawn(0.01, 0.99),), (0,)),
    "owens_t": ((drawn(-3, 3), drawn(-3, 3)), (0, 1)),
    "poch": ((drawn(0.3, 9), drawn(-0.2, 5)), (0, 1)),
    "polygamma": ((wholes(0, 4), drawn(0.3, 9)), (1,)),
    "rel_entr": ((drawn(0.1, 3), drawn(0.1, 3)), (0, 1)),
    "sici": ((drawn(0.3, 20),), (0,)),
    "spence": ((drawn(0.1, 5),), (0,)),
    "xlog1py": ((drawn(-3, 3), drawn(0.1, 3)), (0, 1)),
    "xlogy": ((drawn(-3, 3), drawn(0.1, 3)), (0, 1)),
    "zeta": ((drawn(1.2, 9), drawn(0.3, 9)), (0, 1)),
}
# SciPy's own value or slope is not good enough: it is differenced in mpmath.
BY_MPMATH = {
    "hyp1f1": mp.hyp1f1,
    "hyp2f1": mp.hyp2f1,
    "zeta": mp.zeta,
    "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
    "owens_t": None,
}


def wide(args):
    return [rnp.array(x, dtype="float64") for x in args]


def parts(out):
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_values_in_single_precision(name):
    """At the arguments as they are held; half types round what that gives."""
    args, _ = CASES[name]
    short = [x.astype("float32") for x in args]
    wanted = parts(getattr(sp, name)(*[x.astype("float64") for x in short]))
    found = parts(getattr(special, name)(*[rnp.array(x) for x in short]))
    for mine, value in zip(found, wanted, strict=True):
        assert mine.dtype == "float32"
        np.testing.assert_allclose(np.asarray(mine), value, rtol=3e-5, atol=3e-7)


def five_points(function, args, i, h):
    """The derivative by argument ``i``, by differences of the fourth order."""

    def at(k):
        return function(*args[:i], args[i] + k * h, *args[i + 1 :])

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


@pytest.mark.needs("jit")
@pytest.mark.parametrize("name", [name for name, (_, by) in CASES.items() if by])
def test_derivatives_by_every_argument(name):
    args, by = CASES[name]
    ours = getattr(special, name)

    @rb.jit
    def slopes(*args):
        return rb.grad(lambda *a: sum(x.sum() for x in parts(ours(*a))), argnums=by)(*args)

    found = slopes(*wide(args))
    for i, slope in zip(by, found, strict=True):
        if BY_MPMATH.get(name):
            wanted = [
                float(mp.diff(lambda t, i=i, row=row: BY_MPMATH[name](*row[:i], t, *row[i + 1 :]), row[i]))
                for row in zip(*[map(mp.mpf, x) for x in args], strict=True)
            ]
            np.testing.assert_allclose(np.asarray(slope), wanted, rtol=1e-10, atol=1e-13)
        else:
            theirs = getattr(sp, name)
            wanted = five_points(lambda *a, f=theirs: sum(parts(f(*a))), args, i, 1e-3)
            np.testing.assert_allclose(np.asarray(slope), wanted, rtol=2e-6, atol=1e-9)


def test_second_derivatives_where_the_first_are_by_differentiation():
    half, point = rnp.array(1.5, dtype="float64"), rnp.array(2.5, dtype="float64")
    second = rb.grad(rb.grad(lambda s: special.zeta(s, half)))(point)
    np.testing.assert_allclose(float(second), float(mp.zeta(2.5, 1.5, 2)), rtol=1e-13)
    mixed = rb.grad(rb.grad(lambda b, x: special.hyp1f1(half, b, x)), argnums=1)(point, half)
    wanted = mp.diff(lambda b, x: mp.hyp1f1(1.5, b, x), (2.5, 1.5), (1, 1))
    np.testing.assert_allclose(float(mixed), float(wanted), rtol=1e-12)


@pytest.mark.needs("jit", "vmap")
@pytest.mark.parametrize(
    "names",
    [
        ("betainc", "ndtri", "hyp2f1"),
        pytest.param(("zeta", "expn", "poch"), marks=pytest.mark.exhaustive),
    ],
    ids=["some", "more"],
)
def test_mapped_traced_and_mixed_calls_agree(names):
    for name in names:
        args = [rnp.array(x[:4].astype("float32")) for x in CASES[name][0]]
        function = getattr(special, name)
        eager = np.asarray(function(*args))
        np.testing.assert_allclose(np.asarray(rb.jit(function)(*args)), eager, rtol=1e-6)
        np.testing.assert_allclose(np.asarray(rb.vmap(function)(*args)), eager, rtol=1e-6)
        if len(args) > 1:
            mapped = rb.vmap(function, in_axes=(None, *[0] * (len(args) - 1)))(args[0][0], *args[1:])
            np.testing.assert_allclose(
                np.asarray(mapped), np.asarray(function(args[0][0], *args[1:])), rtol=1e-6
            )


@pytest.mark.needs("jit")
def test_loops_inside_run_without_jit_too():
    with rb.disable_jit():
        values = special.zeta(3.0, -1.5), special.expn(2, 0.5), special.hyp1f1(1.0, 2.0, 1.0)
        slope = rb.grad(special.betainc)(2.0, 3.0, 0.5)
    np.testing.assert_allclose(list(map(float, values)), [0.118102, 0.3266439, math.e - 1], rtol=1e-5)
    np.testing.assert_allclose(float(slope), -0.1952887, rtol=1e-5)


@pytest.mark.needs("bfloat16")
def test_half_types_are_computed_in_single_precision():
    for dtype in ("float16", "bfloat16"):
        x = rnp.array([0.5, 1.5, 2.5], dtype=dtype)
        for name in ("gamma", "ndtr", "i1", "logit", "entr", "factorial"):
            at = x / 4 if name == "logit" else x
            out = getattr(special, name)(at)
            assert out.dtype == dtype
            wanted = getattr(special, name)(at.astype("float32")).astype(dtype)
            assert np.asarray(out).tolist() == np.asarray(wanted).tolist()


NAN, INF = math.nan, math.inf
CORNERS = {
    "gamma": [0.0, -0.0, -1.0, INF, -INF, NAN, 171.7, -0.5],
    "gammaln": [0.0, -1.0, INF, NAN, 1.0, 2.0],
    "gammasgn": [0.0, -0.0, 0.5, -0.5, -1.5],
    "digamma": [0.0, -1.0, INF, NAN],
    "loggamma": [0.0, -0.5, 1.0, INF, NAN],
    "erfc": [INF, -INF, NAN, 0.0],
    "erfcx": [INF, 0.0, NAN, 1e300, -30.0],
    "erfinv": [-1.0, 1.0, 2.0, 0.0, NAN],
    "erfcinv": [0.0, 2.0, 3.0, 1.0, NAN],
    "ndtr": [INF, -INF, NAN, 0.0],
    "ndtri": [0.0, 1.0, -0.1, 1.1, 0.5, NAN, 1e-300],
    "log_ndtr": [INF, -INF, NAN, -1e10],
    "dawsn": [0.0, INF, -INF, NAN, 1e-300],
    "exp1": [0.0, INF, NAN, -1.0],
    "expi": [0.0, INF, -INF, NAN],
    "spence": [0.0, 1.0, -1.0, NAN],
    "sici": [0.0, -1.0, INF, -INF, NAN],
    "fresnel": [0.0, INF, -INF, NAN, 1e8],
    "factorial": [-1.0, 0.0, -0.5, 5.0, 20.0, NAN],
    "entr": [0.0, -1.0, INF, NAN],
    "logit": [0.0, 1.0, -0.1, 1.1, NAN],
    "expit": [INF, -INF, NAN],
    "i0": [0.0, 700.0, 800.0, NAN],
    "zeta": [(1.0, 2.0), (0.5, 2.0), (2.0, 0.0), (3.0, -1.5), (2.5, -1.5), (NAN, 1.0), (2.0, 1e5)],
    "xlogy": [(0.0, 0.0), (0.0, NAN), (1.0, 0.0), (NAN, 1.0), (0.0, INF)],
    "xlog1py": [(0.0, -1.0), (0.0, NAN), (1.0, -1.0)],
    "rel_entr": [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (NAN, 1.0)],
    "kl_div": [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (NAN, 1.0)],
    "boxcox": [(2.0, 0.0), (0.0, 2.0), (0.0, -2.0), (0.0, 0.0), (-1.0, 2.5)],
    "comb": [(5.0, -1.0), (-3.0, 2.0), (5.0, 7.0), (5.0, 5.0), (40.0, 20.0), (2.5, 1.5)],
    "poch": [(-3.0, 2.0), (-3.0, 4.0), (0.0, 0.0), (2.0, -1.0), (0.5, 0.5), (-2.5, 3.0)],
    "beta": [(0.0, 1.0), (1.0, 0.0), (-2.0, 1.0), (-2.5, 1.0), (1e-300, 1.0), (1e5, 1e5)],
    "betaln": [(1.0, 1.0), (1e300, 1.0), (1e-200, 1e-200), (100.0, 1e-3)],
    "betainc": [(1.0, 1.0, 0.0), (1.0, 1.0, 1.0), (1.0, 2.0, NAN), (1e4, 1e4, 0.5), (0.5, 0.5, 1e-10)],
    "gammainc": [(0.0, 1.0), (1.0, 0.0), (1.0, INF), (-1.0, 1.0), (1e4, 1e4)],
    "gammaincc": [(0.0, 1.0), (1.0, 0.0), (1.0, INF), (-1.0, 1.0), (1e4, 1e4)],
    "expn": [(0.0, 0.0), (1.0, 0.0), (3.0, 0.0), (2.0, INF), (-1.0, 1.0), (2.0, NAN), (60.0, 0.5)],
    "polygamma": [(1.0, 0.0), (1.0, -1.0), (0.0, 1.0), (3.0, 1e-5)],
    "hyp1f1": [(1.0, 2.0, 0.0), (-2.0, 3.0, 5.0), (1.0, 0.0, 1.0), (-2.0, -3.0, 5.0), (2.0, 2.0, -300.0)],
    "hyp2f1": [(1.0, 1.0, 3.0, 1.0), (1.0, 1.0, 1.5, 1.0), (-2.0, 1.0, 3.0, 4.0), (1.0, 2.0, 3.0, 0.0)],
    "owens_t": [(0.0, 1.0), (1.0, 0.0), (1.0, INF), (INF, 1.0), (NAN, 1.0), (2.0, -INF)],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({*CASES, *CORNERS}))
def test_values(name):
    """In double precision: at the arguments of the cases, and at ends, poles and infinities."""
    rows = CORNERS.get(name, [])
    corners = np.asarray(rows, float).T if rows and isinstance(rows[0], tuple) else [np.asarray(rows, float)]
    args = CASES[name][0] if name in CASES else [np.zeros(0)] * len(corners)
    joined = [
        np.concatenate(pair)
        for pair in zip(args, corners if rows else [np.zeros(0)] * len(args), strict=True)
    ]
    with np.errstate(all="ignore"):
        wanted = parts(getattr(sp, name)(*joined))
    found = parts(getattr(special, name)(*wide(joined)))
    for mine, value in zip(found, wanted, strict=True):
        assert mine.dtype == "float64"
        np.testing.assert_allclose(np.asarray(mine), value, rtol=4e-13, atol=1e-300)


def test_the_zeta_function_of_riemann():
    x = np.array([1.0, 0.0, -2.0, -1.0, 0.5, -9.5, -60.2, INF, NAN, 50.0, 1.0001])
    np.testing.assert_allclose(np.asarray(special.zeta(*wide([x]))), sp.zeta(x), rtol=1e-12)
    slope = rb.grad(special.zeta)(rnp.array(-1.5, dtype="float64"))
    np.testing.assert_allclose(float(slope), float(mp.zeta(-1.5, 1, 1)), rtol=1e-12)


def test_whole_numbers_are_exact():
    assert special.factorial(rnp.arange(11)).tolist() == [math.factorial(k) for k in range(11)]
    n, k = np.meshgrid(np.arange(20), np.arange(20))
    wanted = np.vectorize(math.comb)(n, k)
    assert special.comb(n.astype("f4"), k.astype("f4")).tolist() == wanted.tolist()
    assert special.comb(rnp.array(7), 3, repetition=True) == 84
    np.testing.assert_allclose(np.asarray(special.bernoulli(20)), sp.bernoulli(20), rtol=1e-6)


def test_complex_arguments():
    z = (RNG.uniform(-6, 6, N) + 1j * RNG.uniform(-6, 6, N)).astype("complex128")
    array = rnp.array(z, dtype="complex128")
    for name in ("gamma", "loggamma", "digamma", "wofz"):
        np.testing.assert_allclose(
            np.asarray(getattr(special, name)(array)), getattr(sp, name)(z), rtol=1e-11
        )
    np.testing.assert_allclose(np.asarray(special.expit(array)), 1 / (1 + np.exp(-z)), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(special.logit(array)), np.log(z / (1 - z)), rtol=1e-12)
    upper = array.real + 1j * abs(array.imag)
    np.testing.assert_allclose(np.asarray(special.erfcx(-1j * upper)), sp.wofz(np.asarray(upper)), rtol=1e-12)
    for name in ("xlogy", "xlog1py"):
        np.testing.assert_allclose(
            np.asarray(getattr(special, name)(array, array)), getattr(sp, name)(z, z), rtol=1e-12
        )
    # On the real axis both parts, each by itself; and the derivative of a holomorphic function.
    x = np.array([0.0, 0.5, 4.0, 9.0])
    w = np.asarray(special.wofz(rnp.array(x, dtype="float64")))
    np.testing.assert_allclose(w.real, np.exp(-x * x), rtol=1e-14)
    np.testing.assert_allclose(w.imag, 2 / math.sqrt(math.pi) * sp.dawsn(x), rtol=1e-14)
    slope = rb.grad(special.loggamma, holomorphic=True)(rnp.array(1.5 + 2j, dtype="complex128"))
    np.testing.assert_allclose(complex(slope), sp.digamma(1.5 + 2j), rtol=1e-12)


def test_sums_over_an_axis():
    x = RNG.normal(size=(3, 4)) * 3
    array = rnp.array(x, dtype="float64")
    for axis in (None, 0, (0, 1)):
        np.testing.assert_allclose(
            np.asarray(special.softmax(array, axis=axis)), sp.softmax(x, axis=axis), rtol=1e-12
        )
        mine = special.log_softmax(array, axis=axis)
        np.testing.assert_allclose(np.asarray(mine), sp.log_softmax(x, axis=axis), rtol=1e-12)
        mine = special.logsumexp(array, axis, b=rnp.array(x - 1, dtype="float64"), return_sign=True)
        for a, b in zip(mine, sp.logsumexp(x, axis, b=x - 1, return_sign=True), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12)
    np.testing.assert_allclose(
        np.asarray(special.multigammaln(array[0] + 20.0, 3)), sp.multigammaln(x[0] + 20.0, 3), rtol=1e-13
    )


def test_spherical_harmonics():
    n, m = np.meshgrid(np.arange(6), np.arange(-5, 6))
    theta, phi = RNG.uniform(0, np.pi, n.shape), RNG.uniform(0, 6, n.shape)
    theta[0], theta[1] = 0.0, np.pi
    with np.errstate(all="ignore"):
        wanted = sp.sph_harm_y(n, m, theta, phi)
    found = special.sph_harm_y(n, m, *wide((theta, phi)))
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12, atol=1e-14)

    def real(theta):
        return special.sph_harm_y(n, m, theta, rnp.array(phi, dtype="float64")).real

    (angle,) = wide((theta,))
    _, slope = rb.jvp(real, (angle,), (rnp.ones_like(angle),))
    wanted = five_points(lambda t: sp.sph_harm_y(n, m, t, phi).real, [theta], 0, 1e-3)
    inside = (theta > 0.01) & (theta < 3.13)
    np.testing.assert_allclose(np.asarray(slope)[inside], wanted[inside], rtol=1e-8, atol=1e-9)


def test_tables_of_legendre_functions():
    z = np.array([-0.7, 0.0, 0.3])
    values, slopes = special.lpmn(3, 4, rnp.array(z, dtype="float64"))
    assert values.shape == slopes.shape == (4, 5, 3)
    for m in range(4):
        for n in range(5):
            np.testing.assert_allclose(np.asarray(values[m, n]), sp.lpmv(m, n, z), rtol=1e-12, atol=1e-13)
            wanted = five_points(lambda t, m=m, n=n: sp.lpmv(m, n, t), [z], 0, 1e-3)
            np.testing.assert_allclose(np.asarray(slopes[m, n]), wanted, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(
        np.asarray(special.lpmn_values(3, 4, rnp.array(z, dtype="float64"), False)), np.asarray(values)
    )
    normalized = np.asarray(special.lpmn_values(3, 4, rnp.array(z, dtype="float64"), True))
    n, m = np.meshgrid(np.arange(5), np.arange(4))
    factor = np.sqrt((2 * n + 1) / (4 * np.pi) * sp.poch(n + m + 1.0, -2.0 * m))
    wanted = np.where(m <= n, factor, 0)[..., None] * np.asarray(values)
    np.testing.assert_allclose(normalized, wanted, rtol=1e-11, atol=1e-13)


def test_the_logarithm_of_boxcox_has_the_derivatives_of_its_limit():
    one = rnp.array(3.0, dtype="float64")
    slope = rb.grad(special.boxcox, argnums=1)(one, rnp.array(0.0, dtype="float64"))
    np.testing.assert_allclose(float(slope), math.log(3.0) ** 2 / 2, rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: special.gamma([1.0]), TypeError, r"gamma takes arrays and numbers, got a list"),
        (lambda: special.ndtr(1j), TypeError, r"ndtr takes real numbers, got complex64"),
        (lambda: special.factorial(3, exact=True), NotImplementedError, r"math\.factorial"),
        (lambda: special.comb(3, 2, exact=True), NotImplementedError, r"math\.comb"),
        (lambda: special.bernoulli(-1), ValueError, r"n must be 0 or more"),
        (lambda: rb.grad(special.polygamma)(1.0, 2.0), TypeError, r"no derivative by n: .* whole numbers"),
        (lambda: special.sph_harm_y(1, 0, 0.0, 0.0, diff_n=1), NotImplementedError, r"rabbet\.jvp"),
        (lambda: special.lpmn(1, 1, 0.5), ValueError, r"one dimension, got the shape \(\)"),
        (lambda: rb.grad(rb.grad(special.betainc))(1.0, 2.0, 0.5), TypeError, r"second derivative by"),
    ],
)  # fmt: skip
@pytest.mark.narrow
def test_errors_say_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.needs("jit")
def test_a_traced_size_is_refused():
    with pytest.raises(TypeError, match=r"bernoulli: n decides the shape .* make it a static argument"):
        rb.jit(special.bernoulli)(3)


def test_bessel_functions_of_whole_orders():
    z = np.float32([0, 1e-6, 0.01, 0.7, -2, 5, 12, 25])
    for name, n_iter in (("given", 60), ("default", 50)):
        found = np.asarray(special.bessel_jn(rnp.array(z), v=4, n_iter=n_iter))
        np.testing.assert_allclose(found, sp.jv(np.arange(5)[:, None], z), rtol=1e-4, atol=1e-6, err_msg=name)
    slopes = rb.vmap(rb.jacfwd(lambda x: special.bessel_jn(x, v=3)))(rnp.array(z)).T
    np.testing.assert_allclose(slopes, sp.jvp(np.arange(4)[:, None], z), rtol=1e-4, atol=1e-6)
    back = rb.grad(lambda x: special.bessel_jn(x, v=3)[3])(2.5)
    np.testing.assert_allclose(back, sp.jvp(3, 2.5), rtol=1e-5)
    with pytest.raises(ValueError, match="v must not be negative"):
        special.bessel_jn(1.0, v=-1)


def test_results_of_python_numbers_are_as_strong_as_under_jax():
    strong = {
        "beta": (1.0, 2.0), "exp1": (2.0,), "expi": (2.0,), "expn": (1, 2.0), "fresnel": (0.5,),
        "gamma": (3.0,), "gammasgn": (0.5,), "hyp1f1": (1.0, 2.0, 0.5), "log_ndtr": (1.0,),
        "multigammaln": (3.0, 2), "ndtr": (1.0,), "ndtri": (0.5,), "poch": (2.0, 3.0), "sici": (0.5,),
        "spence": (2.0,), "logsumexp": (1.0,),
    }  # fmt: skip
    for name, values in strong.items():
        for out in rb.tree.leaves(getattr(special, name)(*values)):
            assert not out.weak_type and out.dtype == "float32", name
    weak = {
        "betaln": (1.0, 2.0),
        "digamma": (1.0,),
        "erf": (0.5,),
        "erfinv": (0.5,),
        "factorial": (3,),
        "i0": (1.0,),
    }
    for name, values in weak.items():
        assert getattr(special, name)(*values).weak_type, name


@pytest.mark.parametrize("order", [-1, 31])
def test_an_order_of_log_ndtr_that_no_series_has(order):
    with pytest.raises(ValueError, match="series_order must be from 0 to 30"):
        special.log_ndtr(-3.0, series_order=order)
