"""Sets, sorting, order statistics and counts of formats of few bits, beside NumPy in float64 or int64: NaN,
both zeros, infinities where the format has them; outside of ``jit`` and inside.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import dtypes, lax

FLOAT8 = "e3m4 e4m3 e4m3b11fnuz e4m3fn e4m3fnuz e5m2 e5m2fnuz e8m0fnu".split()
NEEDED = ["bfloat16", *[f"float8_{kind}" for kind in FLOAT8], "int4", "uint4"]
DTYPES = ["float16"] + [pytest.param(name, marks=pytest.mark.needs(name)) for name in NEEDED]
HERE = [3, 1, np.nan, -0.0, 0, np.inf, -np.inf, 2, 1, np.nan, -1, 0, 0.5, -1, np.inf, np.nan, 1.5, 2]
THERE = [1, 0, np.nan, np.inf, 4, -1, -2, np.nan, 0.5, -0.0]


def of_format(values, name):
    """Those of the values that the format has, in it, and as wide numbers."""
    x, dtype = np.array(values), np.dtype(getattr(dtypes, name, name))
    if "int" in name:
        x = np.clip(x[np.isfinite(x)], 0 if name == "uint4" else -8, 7)
    if name == "float8_e8m0fnu":
        x = np.abs(x)[x != 0]
    x = x.astype(dtype)
    return x, wide(x)


def wide(x):
    x = np.asarray(x)
    return x.astype("int64" if "int" in x.dtype.name or x.dtype == bool else "float64")


def agree(found, wanted):
    found, wanted = [list(v) if isinstance(v, (tuple, list)) else [v] for v in (found, wanted)]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(wide(a), wide(np.asarray(b)))


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("jit")
@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("name", DTYPES)
def test_unique(name, equal_nan):
    x, w = of_format(HERE, name)
    options = {"return_index": True, "return_counts": True, "equal_nan": equal_nan}
    wanted = np.unique(w, **options)
    found = rnp.unique(x, **options)
    agree(found, wanted)
    assert found[0].dtype == x.dtype
    agree(rb.jit(lambda x: rnp.unique(x, size=len(wanted[0]), **options))(x), wanted)
    agree(
        rb.jit(lambda x: rnp.unique(x, return_inverse=True, size=len(w)))(x)[1],
        rnp.unique(x, return_inverse=True)[1],
    )
    inverse = rnp.unique(x, return_inverse=True)
    agree(np.asarray(inverse[0])[np.asarray(inverse[1])], w)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("jit")
@pytest.mark.parametrize("name", ["float32", *DTYPES[:6]])
def test_slices_with_nan(name):
    """NaN comes last in their order, and is equal to itself if that is asked for."""
    nan = np.nan
    rows = [[nan, 2], [1, nan], [nan, nan], [1, nan], [1, 2], [nan, 2], [1, nan], [-1, 0]]
    x = np.array(rows).astype(np.dtype(getattr(dtypes, name, name)))
    options = {"return_index": True, "return_inverse": True, "return_counts": True}
    equal = [7, 4, 1, 0, 2], [3, 2, 4, 2, 1, 3, 2, 0], [1, 1, 3, 2, 1]
    apart = [7, 4, 1, 3, 6, 0, 5, 2], [5, 2, 7, 3, 1, 6, 4, 0], [1] * 8
    for equal_nan, wanted in ((True, equal), (False, apart)):
        for axis, given in ((0, x), (1, x.T)):
            for size in (None, len(wanted[0])):
                how = dict(options, axis=axis, equal_nan=equal_nan, size=size)
                found = (rnp.unique if size is None else rb.jit(rnp.unique, static_argnames=[*how]))(
                    given, **how
                )
                agree(found[1:], wanted)
                agree(found[0], wide(np.take(given, wanted[0], axis)))


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("jit")
@pytest.mark.parametrize("function", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
@pytest.mark.parametrize("name", DTYPES)
def test_sets(name, function):
    (x, w), (y, v) = of_format(HERE, name), of_format(THERE, name)
    wanted = getattr(np, function)(w, v)
    found = getattr(rnp, function)(x, y)
    agree(found, wanted)
    assert found.dtype == x.dtype
    agree(rb.jit(lambda x, y: getattr(rnp, function)(x, y, size=len(wanted)))(x, y), wanted)
    agree(rnp.isin(x, y), np.isin(w, v))


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", DTYPES)
def test_order(name):
    (x, w), (y, v) = of_format(HERE, name), of_format(THERE, name)
    ranks = np.unique(w, return_inverse=True)[1]
    falling = np.lexsort((np.arange(len(w)), -ranks))
    agree(rnp.sort(x), np.sort(w))
    agree(rnp.argsort(x), np.argsort(w, kind="stable"))
    agree(rnp.argsort(x, descending=True), falling)
    agree(rnp.lexsort((np.arange(len(w)) % 3, x)), np.lexsort((np.arange(len(w)) % 3, w)))
    for side in ("left", "right"):
        agree(
            rnp.searchsorted(np.sort(w).astype(x.dtype), y, side=side),
            np.searchsorted(np.sort(w), v, side=side),
        )
    some = x[~np.equal(w, 0)]  # top_k tells zeros by their signs
    agree(lax.top_k(some, 4)[0], np.sort(wide(some))[::-1][:4])
    for function in ("argmax", "argmin", "max", "min", "nanmax", "nanmin", "nanargmax", "nanargmin"):
        agree(getattr(rnp, function)(x), getattr(np, function)(w))


@pytest.mark.parametrize("name", [d for d in DTYPES if getattr(d, "values", [d])[0] != "float8_e8m0fnu"])
def test_order_statistics_and_counts(name):
    """Rounded once, to the format."""
    finite, _ = of_format([v for v in HERE if np.isfinite(v)], name)
    w = wide(finite)

    def rounded(found, wanted):
        agree(found, np.asarray(wanted).astype(np.asarray(found).dtype))

    for function in ("median", "nanmedian"):
        rounded(getattr(rnp, function)(finite), getattr(np, function)(w))
    for method in ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"):
        q = np.array([0, 0.25, 0.5, 0.75, 1], "float32")
        rounded(rnp.quantile(finite, q, method=method), np.quantile(w, q, method=method))
    counts, edges = rnp.histogram(finite, bins=4)
    wanted = np.histogram(w, bins=4)
    rounded(edges, wanted[1])
    agree(counts, np.histogram(w, bins=wide(edges))[0])


@pytest.mark.needs("float8_e8m0fnu")
def test_sums_of_a_format_without_zero_do_not_begin_with_one():
    weights = np.array([2, 2, 1], dtypes.float8_e8m0fnu)
    agree(rnp.bincount(np.array([0, 0, 1]), weights=weights), np.array([4, 1]))


@pytest.mark.needs("bfloat16")
def test_counts_and_even_numbers_of_half_types_are_rounded_once():
    ones = np.ones(1000, dtypes.bfloat16)
    agree(rnp.histogram(ones, bins=1)[0], [1000])
    agree(rnp.bincount(np.zeros(1000, "int32"), weights=ones), [1000])
    even = rnp.linspace(dtypes.bfloat16(0), dtypes.bfloat16(250), 251)
    assert even.dtype == dtypes.bfloat16
    agree(even, np.arange(251))


def test_bincount_leaves_out_what_int32_does_not_hold():
    agree(rnp.bincount(np.array([2**31, 2**32 - 1, 1], "uint32"), length=3), np.array([0, 1, 0]))
    with rb.config.override(enable_x64=True):
        agree(rnp.bincount(np.array([2**32 + 1, -1, 2**31, 1], "int64"), length=3), np.array([1, 1, 0]))
