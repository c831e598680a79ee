"""Polynomials, index tricks, histograms, parts of floats, bits, changed copies, files: NumPy's numbers."""

import io
import warnings

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import tree

RNG = np.random.default_rng(0)
P, Q = np.float32([2, -3, 0.5, 1]), np.float32([1, 4])
X = np.float32([0, 1, 2, 3, 4, 5])
Y = np.float32([1, 2, 0, 4, 3, 7])
POINTS = RNG.normal(size=(40, 3)).astype("f4")
TALL = np.arange(10, dtype="i4").reshape(5, 2)
FLOATS = np.float32(
    [1, -3, 0.1, 0, -0.0, 1e30, -1e-30, 65504, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38]
)
BITS = np.array([[1, 0, 2, 0, 0, 0, 0, 1, 1, 0], [0] * 9 + [3]], "i4")


def changed(function, *args, **kwargs):
    """A function that writes in place for NumPy, and returns a copy here."""

    def call(m):
        if m is not np:
            return getattr(m, function)(*args, **kwargs, inplace=False)
        copy = args[0].copy()
        getattr(np, function)(copy, *args[1:], **kwargs)
        return copy

    return call


CASES = {
    "poly": lambda m: m.poly(P),
    "poly of none": lambda m: m.poly(P[:0]),
    "poly of a matrix": lambda m: m.real(m.poly(np.float32([[2, 1], [1, 3]]))),
    "polyadd": lambda m: m.polyadd(P, Q),
    "polysub": lambda m: m.polysub(Q, P),
    "polymul": lambda m: m.polymul(P, Q),
    "polydiv": lambda m: m.polydiv(P, Q)[0],
    "polydiv by a longer one": lambda m: m.polydiv(Q, P),
    "polyder": lambda m: m.polyder(P),
    "polyder of all": lambda m: m.polyder(Q, 3),
    "polyint": lambda m: m.polyint(P),
    "polyint twice": lambda m: m.polyint(P, 2, np.int32([4, 5])),
    "polyint with one constant": lambda m: m.polyint(P, 3, 2.0),
    "polyval": lambda m: m.polyval(P, X.reshape(2, 3)),
    "polyval of a number": lambda m: m.polyval(P, 2.0),
    "polyfit": lambda m: m.polyfit(X, Y, 2),
    "polyfit of columns": lambda m: m.polyfit(X, np.stack([X, Y], 1), 1),
    "polyfit weighted": lambda m: m.polyfit(X, Y, 1, w=Y + 1, cov=True),
    "polyfit unscaled": lambda m: m.polyfit(X, np.stack([X, Y], 1), 1, cov="unscaled"),
    "polyfit, all": lambda m: m.polyfit(X, Y, 1, full=True)[:4],
    "r_": lambda m: m.r_[0:3, 5, np.int32([7, 8])],
    "r_ counted": lambda m: m.r_[0:1:5j, 3.0],
    "r_ directed": lambda m: m.r_["1,2,0", np.int32([1, 2]), np.int32([3, 4])],
    "r_ stacked": lambda m: m.r_["0,2", np.int32([1, 2]), np.int32([3, 4])],
    "r_ in three dimensions": lambda m: m.r_["0,3,1", np.int32([1, 2]), np.int32([[3], [4]])],
    "c_": lambda m: m.c_[np.int32([1, 2]), np.int32([3, 4])],
    "r_ of a row": lambda m: np.asarray(m.r_["r", 1:3]),
    "mgrid": lambda m: m.mgrid[0:2, 1:7:2],
    "mgrid counted": lambda m: m.mgrid[0:1:3j, 0:2:2j],
    "ogrid": lambda m: list(m.ogrid[0:2, 1:4]),
    "mgrid of one": lambda m: m.mgrid[2:8:3],
    "ix_": lambda m: m.asarray(TALL)[m.ix_(np.int32([4, 0]), np.array([False, True]))],
    "mask_indices": lambda m: m.mask_indices(3, m.triu, 1),
    "frexp": lambda m: m.frexp(FLOATS),
    "frexp of halves": lambda m: m.frexp(FLOATS[:4].astype("f2")),
    "ldexp": lambda m: m.ldexp(FLOATS[:8], np.int32([3, -2, 40, 5, 2, 30, -10, -200])),
    "ldexp far": lambda m: m.ldexp(np.float32([2.0**-100, 2.0**100]), np.int32([227, -249])),
    "nextafter": lambda m: m.nextafter(FLOATS[:8], np.float32(1)),
    "spacing": lambda m: m.spacing(FLOATS[:-4]),
    "spacing of denormals": lambda m: m.spacing(np.float32([1e-45, -1e-40, 2e-38, 1e-35])),
    "spacing of halves": lambda m: m.spacing(np.float16([1, 3, 6e-8, 1e-4])),
    "i0": lambda m: m.i0(X),
    "unwrap": lambda m: m.unwrap(Y * 3),
    "unwrap rows": lambda m: m.unwrap(POINTS * 5, axis=0),
    "unwrap with a period": lambda m: m.unwrap(np.int32([0, 3, 6, 0, 3, -9]), period=8),
    "unwrap from a difference on": lambda m: m.unwrap(Y, discont=3.5, period=5),
    "packbits": lambda m: m.packbits(BITS),
    "packbits along": lambda m: m.packbits(BITS, axis=1, bitorder="little"),
    "packbits first": lambda m: m.packbits(BITS > 0, axis=0),
    "unpackbits": lambda m: m.unpackbits(np.uint8([3, 200]), count=11),
    "unpackbits along": lambda m: m.unpackbits(np.uint8([[3], [200]]), axis=1, count=-3, bitorder="little"),
    "unpackbits beyond": lambda m: m.unpackbits(np.uint8([[3], [200]]), axis=0, count=20),
    "place": changed("place", TALL, TALL % 3 == 1, np.int32([-1, -2])),
    "put": changed("put", TALL, np.int32([0, 12, 3]), np.int32([-1, -2]), mode="clip"),
    "put wrapped": changed("put", TALL, np.int32([0, 12, -3]), np.int32([-1, -2]), mode="wrap"),
    "fill_diagonal": changed("fill_diagonal", TALL, 7),
    "fill_diagonal again": changed("fill_diagonal", TALL, np.int32([7, 8, 9]), wrap=True),
    "fill_diagonal of a cube": changed("fill_diagonal", np.zeros((2, 2, 2), "f4"), np.float32([1, 2])),
    "histogram2d": lambda m: m.histogram2d(POINTS[:, 0], POINTS[:, 1], bins=[3, 4]),
    "histogram2d by edges": lambda m: m.histogram2d(X, Y, bins=np.float32([0, 1, 2, 5])),
    "histogramdd": lambda m: m.histogramdd(POINTS, bins=2, range=[(-1, 1), (-2, 2), (0, 3)]),
    "histogramdd, density": lambda m: m.histogramdd(
        POINTS, bins=(2, 3, 1), density=True, weights=np.abs(POINTS[:, 0])
    ),
    "apply_along_axis": lambda m: m.apply_along_axis(lambda v: v[::2] * 2, 0, POINTS[:4]),
    "apply_over_axes": lambda m: m.apply_over_axes(m.sum, POINTS.reshape(4, 10, 3), [0, -1]),
    "fromfunction": lambda m: m.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype="int32"),
    "piecewise": lambda m: m.piecewise(X, [X < 2, X > 3], [lambda x: -x, lambda x: x * 10, 7]),
    "piecewise, one": lambda m: m.piecewise(X, X < 2, [lambda x: -x]),
    "fromstring": lambda m: m.fromstring("1 2.5 3", sep=" "),
    "fromiter": lambda m: m.fromiter(range(4), "int32", 3),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_as_in_numpy(name):
    found, wanted = tree.leaves(CASES[name](rnp)), tree.leaves(CASES[name](np))
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape
        assert x.dtype.kind == y.dtype.kind or {x.dtype.kind, y.dtype.kind} <= set("iuf")
        if "spacing" in name or name in ("frexp", "nextafter"):
            known = ~np.isnan(y)
            np.testing.assert_array_equal(np.isnan(x), ~known)
            words = f"i{x.itemsize}"
            np.testing.assert_array_equal(x.view(words)[known], y.astype(x.dtype).view(words)[known])
        elif y.dtype.kind in "fc":
            np.testing.assert_allclose(
                x, y, rtol=5e-5, atol=5e-5 * float(np.max(np.abs(y[np.isfinite(y)]), initial=0))
            )
        else:
            np.testing.assert_array_equal(x, y)


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("jit", "grad")
def test_roots_are_where_the_polynomial_vanishes():
    p = np.float32([0, 0, 2, -3, 1, 5, 0])
    found = np.asarray(rnp.roots(p))
    assert found.shape == (4,) and found[-1] == 0
    np.testing.assert_allclose(np.polyval(p.astype("f8"), found.astype("c16")), 0, atol=1e-4)
    traced = rb.jit(lambda p: rnp.roots(p, strip_zeros=False))(p[2:6])
    np.testing.assert_allclose(np.sort_complex(traced), np.sort_complex(np.roots(p[2:6])), atol=1e-5)
    with pytest.raises(rb.errors.ConcretizationTypeError, match="strip_zeros=False"):
        rb.jit(rnp.roots)(p)


@pytest.mark.forbidden("disable_jit", "explicit_x64_dtypes")
@pytest.mark.needs("jit", "grad")
def test_files_and_back(tmp_path):
    for dtype in ("float32", "float64", "int8", "bool", "complex64", "bfloat16"):
        if rb.dtypes.find(dtype) is None:
            continue
        x = rnp.asarray(np.arange(6).reshape(2, 3), dtype)
        rnp.save(tmp_path / "x", x)
        back = rnp.load(tmp_path / "x.npy")
        if dtype not in ("float64",):  # a value of 64 bits is narrowed, as everywhere
            assert back.dtype == x.dtype
        assert (np.asarray(back) == np.asarray(x)).all()
    rnp.savez(tmp_path / "xs", X, y=rnp.asarray(Y))
    with rnp.load(tmp_path / "xs.npz") as held:
        assert sorted(held) == ["arr_0", "y"] and (held["y"] == Y).all()
    X.tofile(tmp_path / "raw")
    assert (np.asarray(rnp.fromfile(tmp_path / "raw", "float32", 3)) == X[:3]).all()
    with pytest.raises(ValueError, match="allow_pickle"):
        memory = io.BytesIO()
        np.save(memory, np.array([None]))
        memory.seek(0)
        rnp.load(memory)
    with pytest.raises(rb.errors.ConcretizationTypeError, match="in a callback"):
        rb.jit(lambda x: rnp.save(tmp_path / "y", x))(X)


def test_printing():
    x = rnp.asarray(np.float32([1.23456, 2]))
    assert rnp.array_str(x, precision=2) == "[1.23 2.  ]"
    assert rnp.array_repr(x, precision=2) == "Array([1.23, 2.  ], dtype=float32)"
    with rnp.printoptions(precision=1):
        assert repr(x) == "Array([1.2, 2. ], dtype=float32)"
        assert rnp.get_printoptions()["precision"] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rnp.ComplexWarning)


def test_index_expressions():
    assert rnp.s_[1:3, ..., None] == (slice(1, 3), ..., None)
    assert rnp.s_[2] == 2 and rnp.index_exp[2] == (2,)


@pytest.mark.needs("jit", "grad")
def test_float_parts_are_exact_inverses_and_traced():
    x = (RNG.normal(size=50) * 10.0 ** RNG.integers(-37, 38, 50)).astype("f4")
    part, exponent = rb.jit(rnp.frexp)(x)
    assert ((np.abs(part) >= 0.5) & (np.abs(part) < 1)).all()
    np.testing.assert_array_equal(rnp.ldexp(part, exponent), x)
    slope = rb.grad(lambda x: rnp.ldexp(x, 3))(2.0)
    assert float(slope) == 8.0
    for name in ("frexp", "spacing", "nextafter"):
        with pytest.raises(TypeError, match="not defined on complex numbers"):
            getattr(rnp, name)(*[1j] * (2 if name == "nextafter" else 1))


@pytest.mark.needs("jit", "grad")
def test_polynomials_under_transformations():
    slope = rb.grad(lambda p: rnp.polyval(rnp.polymul(p, p), 2.0))(P)
    wanted = 2 * np.polyval(P, 2.0) * 2.0 ** np.arange(3, -1, -1)
    np.testing.assert_allclose(slope, wanted, rtol=1e-5)
    quotient, rest = rb.jit(rnp.polydiv)(P, Q)
    whole = np.polyadd(np.polymul(np.asarray(quotient), Q), np.asarray(rest))
    np.testing.assert_allclose(whole, P, rtol=1e-5, atol=1e-5)
    long = np.linspace(-1, 1, 40).astype("f4")
    np.testing.assert_allclose(rnp.polyval(long, 0.5), np.polyval(long, 0.5), rtol=1e-5)
    fits = rb.vmap(lambda y: rnp.polyfit(X, y, 1))(np.stack([X, Y]))
    np.testing.assert_allclose(fits[1], np.polyfit(X, Y, 1), rtol=1e-4)


MESSAGES = [
    (lambda: rnp.polyder(P, -1), ValueError, "must not be negative.*polyint"),
    (lambda: rnp.polyfit(X, Y, -1), ValueError, "the degree must not be negative"),
    (lambda: rnp.polyfit(X, Y[:3], 1), TypeError, "a row for each of the 6 points"),
    (lambda: rnp.polyfit(X[:2], Y[:2], 1, cov=True), ValueError, "cov='unscaled' does without"),
    (lambda: rnp.roots(np.ones((2, 2), "f4")), ValueError, "roots takes a vector"),
    (lambda: rnp.r_["x", 1], ValueError, "'x' is not understood"),
    (lambda: rnp.mgrid[:], ValueError, "a slice needs an end"),
    (lambda: rnp.ix_(TALL), ValueError, "ix_ takes vectors"),
    (lambda: rnp.ldexp(1.0, 2.0), ValueError, "integer exponents"),
    (lambda: rnp.packbits(X), TypeError, "packbits takes integers or booleans"),
    (lambda: rnp.packbits(BITS, bitorder="middle"), ValueError, "'big' or 'little'"),
    (lambda: rnp.unpackbits(BITS), TypeError, "unpackbits takes uint8"),
    (lambda: rnp.unpackbits(np.uint8([1]), count=-9), ValueError, "leaves out more than the 8 bits"),
    (lambda: rnp.place(TALL, TALL > 1, [1]), ValueError, "pass inplace=False"),
    (
        lambda: rnp.put(TALL, [0], 1, "raise", inplace=False),
        NotImplementedError,
        "mode='clip' or mode='wrap'",
    ),
    (lambda: rnp.fill_diagonal(TALL, 1), NotImplementedError, "pass inplace=False"),
    (lambda: rnp.fill_diagonal(X, 1, inplace=False), ValueError, "at least two dimensions"),
    (lambda: rnp.histogram2d(X, Y[:2]), ValueError, "vectors of one length"),
    (lambda: rnp.histogramdd(POINTS, bins=[2, 2]), ValueError, "2 bins and 3 ranges for 3 dimensions"),
    (lambda: rnp.piecewise(X, [X > 1], [1, 2, 3]), ValueError, "as many functions or one more"),
    (lambda: rnp.apply_over_axes(lambda a, i: a[0, 0], POINTS, 0), ValueError, "must keep the 2 dimensions"),
    (lambda: rnp.apply_over_axes(lambda a, i: [a], POINTS, 0), TypeError, "it returned a list"),
    (lambda: rnp.fromstring("1", sep=""), ValueError, "frombuffer reads bytes"),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_minmax_is_min_and_max():
    x = np.array([[1.0, 5.0, 2.0], [np.nan, 3.0, 0.0]], np.float32)
    for options in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}, {"axis": 1, "initial": 4.0}):
        low, high = rnp.minmax(x, **options)
        np.testing.assert_array_equal(low, rnp.min(x, **options))
        np.testing.assert_array_equal(high, rnp.max(x, **options))
    low, high = rnp.minmax(x, initial=(9.0, -9.0), where=np.zeros_like(x, bool))
    assert (float(low), float(high)) == (9.0, -9.0)
    with pytest.raises(ValueError, match="minmax of no elements"):
        rnp.minmax(np.zeros(0, np.float32))
