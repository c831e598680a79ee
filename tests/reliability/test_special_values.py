"""Every elementwise function of `rabbet.numpy` on a grid of special values, against NumPy: eager and jitted.

Of one the value is another: `sinc` of an infinity is 0, its limit, as in JAX, and so is that of every whole
number but 0, of which NumPy has what the rounding of pi leaves. Three things are left free: the
sign of a zero that `maximum` and its like choose between two zeros, the sign of `sign(-0.0)` (it stays
negative, as in JAX), and numbers below the smallest normal one, which XLA on a CPU takes for zeros.
"""

import warnings

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

pytestmark = [pytest.mark.optimized, pytest.mark.needs("cpu", "jit", "numpy")]

VALUES = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    1.5,
    -1.5,
    2.5,
    np.pi,
    1e4,
    6e4,
]
BINARY = (
    "add subtract multiply divide true_divide floor_divide remainder mod fmod hypot arctan2 power "
    "float_power logaddexp logaddexp2 maximum minimum fmax fmin copysign nextafter heaviside divmod "
    "greater less equal not_equal greater_equal less_equal logical_and logical_or logical_xor"
).split()
UNARY = (
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 "
    "log10 log1p sqrt cbrt square reciprocal abs fabs negative positive sign floor ceil trunc rint "
    "round isnan isinf isfinite signbit modf frexp nan_to_num deg2rad rad2deg degrees radians sinc i0 "
    "spacing isneginf isposinf logical_not conjugate real imag angle"
).split()
# Relative, for the values that are no special ones: here only they are of interest.
CLOSE = {"float16": 4e-3, "float32": 1e-5, "float64": 1e-11}
FREE_ZEROS = {"maximum", "minimum", "fmax", "fmin", "sign"}


def by_numpy(name, arguments):
    """What NumPy makes of the arguments; zero where ``sinc`` has one, which NumPy misses."""
    found = getattr(np, name)(*arguments)
    if name != "sinc":
        return found
    x = arguments[0]
    zero = np.isinf(x) | ((x == np.floor(x)) & (x != 0))
    return np.where(zero, x.dtype.type(0), found)


def agree(ours, theirs, tolerance, signs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype.kind not in "fc":
        return ours == theirs
    equal = (ours == theirs) & (~signs | (np.signbit(ours.real) == np.signbit(theirs.real)))
    wide, other = ours.astype("complex128"), theirs.astype("complex128")
    finite = np.isfinite(wide) & np.isfinite(other) & (wide != 0) & (other != 0)
    wide, other = np.where(finite, wide, 1), np.where(finite, other, 1)
    close = finite & (np.abs(wide - other) <= tolerance * np.abs(other))
    return equal | close | (np.isnan(ours) & np.isnan(theirs))


def disagreements(name, dtype):
    values = np.array(VALUES, dtype)
    arguments = [g.ravel() for g in np.meshgrid(values, values)] if name in BINARY else [values]
    function = getattr(rnp, name)
    ours = [rnp.asarray(a, dtype=dtype) for a in arguments]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = by_numpy(name, arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for how, call in (("eager", function), ("jitted", rb.jit(function))):
        got = call(*ours)
        got = got if isinstance(got, (tuple, list)) else (got,)
        for part, (g, e) in enumerate(zip(got, expected, strict=True)):
            with np.errstate(all="ignore"):
                e = e.astype(g.dtype) if e.dtype.kind == "f" else e  # float_power computes in float64 there
            right = agree(g, e, CLOSE[dtype], np.array(name not in FREE_ZEROS))
            if e.dtype.kind == "f":  # what the host has and XLA has not
                right |= (np.abs(e) < np.finfo(e.dtype).tiny) & (np.asarray(g) == 0)
            for i in np.flatnonzero(~right):
                at = tuple(float(a[i]) for a in arguments)
                yield f"{name}{at} in {dtype}, {how}, result {part}: {g[i]}, NumPy has {e[i]}"


def check(dtype, names):
    found = [line for name in names if hasattr(rnp, name) for line in disagreements(name, dtype)]
    assert not found, f"{len(found)} differ:\n" + "\n".join(found[:40])


@pytest.mark.parametrize("names", [BINARY, UNARY], ids=["binary", "unary"])
def test_special_values_in_single_precision(names):
    check("float32", names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("names", [BINARY, UNARY], ids=["binary", "unary"])
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_special_values_in_other_precisions(dtype, names):
    if dtype == "float16":  # NumPy's spacing of negative numbers differs between its versions there
        names = [name for name in names if name != "spacing"]
    check(dtype, names)


# What SciPy has of those that NumPy has not; a name of lax, and SciPy's.
BY_SCIPY = {
    "logistic": "expit", "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "lgamma": "gammaln",
    "digamma": "digamma",
    "bessel_i0e": "i0e", "bessel_i1e": "i1e",
}  # fmt: skip
# At poles SciPy has a sign of its own; the value is as large.
POLES = {("lgamma", -np.inf), ("digamma", 0.0)}


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.exhaustive)])
def test_special_values_of_functions_that_numpy_has_not(dtype):
    special = pytest.importorskip("scipy.special")
    pytest.importorskip("rabbet_special")
    wrong = []
    for name, theirs in BY_SCIPY.items():
        function = getattr(lax, name)
        values = np.array([v for v in VALUES if (name, v) not in POLES], dtype)
        with np.errstate(all="ignore"):
            expected = getattr(special, theirs)(values).astype(dtype)
        for how, call in (("eager", function), ("jitted", rb.jit(function))):
            got = np.asarray(call(rnp.asarray(values, dtype=dtype)))
            right = agree(got, expected, 10 * CLOSE[dtype], np.array(False))
            wrong += [
                f"{name}({values[i]}), {how}: {got[i]}, SciPy {expected[i]}" for i in np.flatnonzero(~right)
            ]
    assert not wrong, "\n".join(wrong)


def test_remainders_and_quotients_of_bfloat16():
    values = np.array(VALUES, "float32")
    x, y = [g.ravel() for g in np.meshgrid(values, values)]
    x, y = [np.asarray(rnp.asarray(v).astype("bfloat16").astype("float32")) for v in (x, y)]
    for name in ("floor_divide", "remainder"):
        got = np.asarray(
            getattr(rnp, name)(*[rnp.asarray(v).astype("bfloat16") for v in (x, y)]).astype("float32")
        )
        with np.errstate(all="ignore"):
            expected = np.asarray(rnp.asarray(getattr(np, name)(x, y)).astype("bfloat16").astype("float32"))
        special = (np.isnan(x) | np.isinf(x) | np.isnan(y) | np.isinf(y)) | (x == 0) | (y == 0)
        assert agree(got, expected, 1e-2, np.array(True))[special].all()


@pytest.mark.exhaustive
def test_special_values_in_bfloat16():
    """NumPy computes them in single precision, from values that bfloat16 holds; its steps are large."""
    half, wrong = rnp.bfloat16, []
    values = np.asarray(rnp.asarray(VALUES, dtype=half).astype("float32"))
    # Whose results are of the format itself, not of the function: the next number, the largest, the step.
    own = {"nextafter", "nan_to_num", "spacing"}
    for name in [name for name in (*BINARY, *UNARY) if hasattr(rnp, name) and name not in own]:
        arguments = [g.ravel() for g in np.meshgrid(values, values)] if name in BINARY else [values]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = by_numpy(name, arguments)
        ours = [rnp.asarray(a).astype(half) for a in arguments]
        for how, call in (("eager", getattr(rnp, name)), ("jitted", rb.jit(getattr(rnp, name)))):
            got = call(*ours)
            parts = zip(
                got if isinstance(got, (tuple, list)) else [got],
                expected if isinstance(expected, tuple) else [expected],
                strict=True,
            )
            for g, e in parts:
                if g.dtype == half:
                    g, e = g.astype("float32"), np.asarray(rnp.asarray(e, dtype=half).astype("float32"))
                g = np.asarray(g)
                right = agree(g, e, 2e-2, np.array(name not in FREE_ZEROS))
                if e.dtype.kind == "f":
                    with np.errstate(all="ignore"):
                        right |= np.abs(g - e) < 3e-3  # near a zero of the function, as of log and sinc
                wrong += [
                    f"{name}{[float(a[i]) for a in arguments]}, {how}: {g[i]}, NumPy {e[i]}"
                    for i in np.flatnonzero(~right)
                ]
    assert not wrong, "\n".join(wrong[:40])


def test_integers_divided_by_zero_are_as_in_numpy():
    for dtype in ("int8", "int32", "uint8", "uint32", "int64"):
        info = np.iinfo(dtype)
        values = np.array([0, 1, 2, 5, info.min, info.max, *([-1, -5] if info.min else [])], dtype)
        x, y = [g.ravel() for g in np.meshgrid(values, values)]
        ours = [rnp.asarray(v, dtype=dtype) for v in (x, y)]
        for name in ("floor_divide", "remainder"):
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(x, y)
            np.testing.assert_array_equal(getattr(rnp, name)(*ours), expected, f"{name} {dtype}")
            np.testing.assert_array_equal(getattr(rnp, name)(ours[0], 0), 0)


@pytest.mark.needs("grad")
def test_zeros_of_a_sign_have_the_derivative_of_any_other_number():
    for x, y in ((2.0, 1.0), (-2.0, 1.0), (2.0, -1.0), (-2.0, -1.0), (2.5, 1.0)):
        dx, dy = rb.grad(lambda x, y: x % y, argnums=(0, 1))(x, y)
        assert (
            float(dx) == 1 and abs(float(dy)) == abs(x // y) and float(rb.grad(lambda x, y: x % y)(x, y)) == 1
        )
        assert (
            float(rb.grad(lambda x, y: x // y)(x, y)) == 0
            and float(rb.grad(lambda x: rnp.modf(x)[0])(x)) == 1
        )
