"""Functions of complex numbers and their derivatives beside mpmath: each part by itself, at small and large
parts, on both sides of every cut, and at zeros of both signs; eagerly and compiled.
"""

import cmath

import numpy as np
import pytest
import rabbet as rb
import rabbet.lax as lax
import rabbet.numpy as rnp

mp = pytest.importorskip("mpmath")

PARTS = (0.0, -0.0, 1e-30, -1e-6, 0.5, -1.0, 1.0, 1.5, -3.0, 20.0, -87.5, 1e25)
POINTS = [complex(a, b) for a in PARTS for b in PARTS]
LN2 = mp.log(2)

# The function of rabbet, the function, its derivative.
FUNCTIONS = {
    "exp": (lax.exp, mp.exp, mp.exp),
    "expm1": (lax.expm1, lambda z: mp.exp(z) - 1, mp.exp),
    "exp2": (lax.exp2, lambda z: mp.exp(z * LN2), None),
    "log": (lax.log, mp.log, lambda z: 1 / z),
    "log2": (rnp.log2, lambda z: mp.log(z) / LN2, None),
    "log10": (rnp.log10, lambda z: mp.log(z) / mp.log(10), None),
    "log1p": (lax.log1p, lambda z: mp.log(1 + z), lambda z: 1 / (1 + z)),
    "sqrt": (lax.sqrt, mp.sqrt, lambda z: 0.5 / mp.sqrt(z)),
    "rsqrt": (lax.rsqrt, lambda z: 1 / mp.sqrt(z), None),
    "square": (lax.square, lambda z: z * z, lambda z: 2 * z),
    "logistic": (lax.logistic, lambda z: 1 / (1 + mp.exp(-z)), None),
    "sin": (lax.sin, mp.sin, mp.cos),
    "cos": (lax.cos, mp.cos, lambda z: -mp.sin(z)),
    "tan": (lax.tan, mp.tan, lambda z: 1 / mp.cos(z) ** 2),
    "sinh": (lax.sinh, mp.sinh, mp.cosh),
    "cosh": (lax.cosh, mp.cosh, mp.sinh),
    "tanh": (lax.tanh, mp.tanh, lambda z: 1 / mp.cosh(z) ** 2),
    "asin": (lax.asin, mp.asin, lambda z: 1 / mp.sqrt(1 - z) / mp.sqrt(1 + z)),
    "acos": (lax.acos, mp.acos, lambda z: -1 / mp.sqrt(1 - z) / mp.sqrt(1 + z)),
    "atan": (lax.atan, mp.atan, lambda z: 1 / ((1 + 1j * z) * (1 - 1j * z))),
    "asinh": (lax.asinh, mp.asinh, lambda z: 1 / mp.sqrt(1 + 1j * z) / mp.sqrt(1 - 1j * z)),
    "acosh": (lax.acosh, mp.acosh, lambda z: 1 / mp.sqrt(z - 1) / mp.sqrt(z + 1)),
    "atanh": (lax.atanh, mp.atanh, lambda z: 1 / ((1 - z) * (1 + z))),
}
POLES = dict.fromkeys(("log", "log2", "log10", "rsqrt"), (0,))
POLES |= {"log1p": (-1,), "atan": (1j, -1j), "atanh": (1, -1)}


def exact(function, z):
    """The value at ``z``, whose zeros stand for what is a little beside them."""
    with mp.workdps(450):
        little = mp.mpf(10) ** -400
        parts = [little if x == 0 and np.copysign(1, x) > 0 else -little if x == 0 else mp.mpf(x)
                 for x in (z.real, z.imag)]  # fmt: skip
        return function(mp.mpc(*parts))


def agrees(x, wanted, info, units):
    """Whether a part has the wanted value, or is infinite or nothing where that is too large or too small."""
    if abs(wanted) > info.max:
        return (np.isinf(x) and (x > 0) == (wanted > 0)) or abs(wanted) < 8 * info.max
    if abs(wanted) < info.tiny:
        return abs(x) < 4 * info.tiny
    return np.isfinite(x) and abs(mp.mpf(float(x)) - wanted) < units * float(info.eps) * abs(wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_parts_beside_exact_values(name):
    function, wanted, _ = FUNCTIONS[name]
    points = np.array([z for z in POINTS if z not in POLES.get(name, ())], "complex64")
    if name == "exp2":  # the angle b log 2 is rounded before it is turned by
        points = points[np.abs(points.imag) < 100]
    if name in ("exp", "expm1", "sinh", "cosh", "sin", "cos", "exp2"):  # 0 times infinity is not a number
        points = points[(np.abs(points.real) < 1e20) & (np.abs(points.imag) < 1e20)]
    info = np.finfo("float32")
    compiled = np.asarray(rb.jit(function)(points))
    eager = np.asarray(function(rnp.asarray(points)))
    wrong = []
    for z, out, again in zip(points.tolist(), compiled, eager, strict=True):
        w = exact(wanted, z)
        pairs = [pair for y in (out, again) for pair in ((y.real, w.real), (y.imag, w.imag))]
        if not all(agrees(x, v, info, 100) for x, v in pairs):
            wrong.append((z, out, again, mp.nstr(w, 9)))
    assert not wrong, wrong


@pytest.mark.parametrize("name", [n for n, (_, _, slope) in FUNCTIONS.items() if slope is not None])
def test_derivatives_beside_exact_values(name):
    function, _, slope = FUNCTIONS[name]
    poles = {"asin": (1, -1), "acos": (1, -1), "acosh": (1, -1), "asinh": (1j, -1j), "sqrt": (0,)}
    singular = POLES.get(name, ()) + poles.get(name, ())
    points = [z for z in POINTS if z not in singular and max(abs(z.real), abs(z.imag)) < 1e10]
    points = np.array(points, "complex64")
    _, out = rb.jvp(function, (points,), (np.ones_like(points),))
    wrong = []
    for z, x in zip(points.tolist(), np.asarray(out).tolist(), strict=True):
        w = exact(slope, z)
        size = float(abs(w))
        if not (1e-36 < size < 1e37):
            continue
        if not abs(mp.mpc(x) - w) < 3e-5 * size:
            wrong.append((z, x, mp.nstr(w, 9)))
    assert not wrong, wrong


def test_small_parts_have_their_digits():
    assert np.imag(lax.sin(np.complex64(3 + 1e-6j))) == pytest.approx(-9.8999250e-07, rel=1e-6)
    assert np.imag(lax.sin(np.complex64(3 + 1e-20j))) == pytest.approx(-9.8999250e-21, rel=1e-6)


@pytest.mark.parametrize("z", [complex(-1, -0.0), complex(-1, 0.0)])
def test_roots_on_the_cut(z):
    out = complex(lax.sqrt(rnp.asarray(z)))
    assert out == pytest.approx(cmath.sqrt(z)) and np.copysign(1, out.imag) == np.copysign(1, z.imag)


def test_parts_of_infinite_values():
    assert complex(rnp.log2(np.complex64(0))) == complex(-np.inf, 0)
    assert complex(rnp.log10(np.complex64(0))) == complex(-np.inf, 0)
    assert complex(lax.sin(np.complex64(complex(0, np.inf)))) == complex(0, np.inf)
    assert complex(lax.cosh(np.complex64(complex(np.inf, 0)))) == complex(np.inf, 0)


SIDES = (0.0, -0.0, 1.0, -1.0, 2.5)
ZEROS = np.array([complex(a, b) for a in SIDES for b in SIDES], "complex64")
BY_NUMPY = {
    "exp": np.exp, "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "sqrt": np.sqrt, "log": np.log, "log1p": np.log1p, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BY_NUMPY)
def test_zeros_have_the_sign_that_they_have_in_numpy(name):
    wanted = BY_NUMPY[name](ZEROS.astype("complex128"))
    for f in (getattr(lax, name), rb.jit(getattr(lax, name))):
        found = np.asarray(f(rnp.asarray(ZEROS)))
        for x, y in ((found.real, wanted.real), (found.imag, wanted.imag)):
            nought = y == 0
            np.testing.assert_array_equal(x == 0, nought)
            np.testing.assert_array_equal(np.signbit(x[nought]), np.signbit(y[nought]))


def test_an_exponential_of_infinite_parts():
    inf = np.inf
    assert complex(lax.exp(np.complex64(complex(-inf, inf)))) == 0
    assert np.asarray(lax.exp(np.complex64(complex(inf, inf)))).real == inf
    assert complex(lax.exp(np.complex64(complex(inf, 0)))) == complex(inf, 0)
