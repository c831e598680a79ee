"""Arguments that few calls give: known sizes of sets, weights of quantiles, a mean that is known, dtypes of
results, places for them.
"""

import numpy as np
import pytest
import rabbet.numpy as rnp

A, B = np.array([1, 2, 2, 3], np.int32), np.array([2, 3, 4, 3], np.int32)
LINE = np.array([1.0, 2.0, 4.0, 8.0], np.float32)
TABLE = np.array([[4.0, 1.0, 3.0], [9.0, 7.0, 8.0]], np.float32)
SHARES = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0]


def listed(found):
    return [np.asarray(x).tolist() for x in found] if isinstance(found, tuple) else np.asarray(found).tolist()


@pytest.mark.parametrize(
    ("name", "options", "wanted"),
    [
        ("union1d", {"size": 6}, [1, 2, 3, 4, 1, 1]),
        ("union1d", {"size": 3, "fill_value": 9}, [1, 2, 3]),
        ("union1d", {"size": 0}, []),
        ("intersect1d", {"size": 4}, [2, 3, 2, 2]),
        ("intersect1d", {"size": 3, "return_indices": True}, [[2, 3, 2], [1, 3, 4], [0, 1, 4]]),
        ("intersect1d", {"return_indices": True}, [[2, 3], [1, 3], [0, 1]]),
        ("setdiff1d", {"size": 3}, [1, 0, 0]),
        ("setdiff1d", {"size": 2, "fill_value": -1}, [1, -1]),
        ("setxor1d", {"size": 4}, [1, 4, 1, 1]),
        ("setxor1d", {"size": 3, "fill_value": -1}, [1, 4, -1]),
    ],
)
def test_sets_of_a_known_size(name, options, wanted):
    assert listed(getattr(rnp, name)(A, B, **options)) == wanted


def test_sets_of_nothing_in_common_and_of_unique_elements():
    assert listed(rnp.intersect1d(A, np.array([7], np.int32), size=2)) == [0, 0]
    apart = np.array([5, 1, 2], np.int32)
    assert listed(rnp.setdiff1d(apart, B, assume_unique=True, size=3)) == [5, 1, 0]
    found = rnp.intersect1d(apart, B[:2], assume_unique=True, return_indices=True, size=1)
    assert listed(found) == [[2], [2], [0]]
    assert rnp.setdiff1d(A, np.array([1.5, 2.0], np.float32), size=2).dtype == np.int32


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("weights", [[1, 1, 1, 1], [0, 0, 1, 1], [1, 0, 0, 3], [2.0, 1, 0.5, 1]])
def test_weighted_quantiles(weights):
    wanted = np.quantile(LINE.astype(float), SHARES, weights=weights, method="inverted_cdf")
    weights = np.array(weights, np.float32)
    for i in (slice(None), slice(None, None, -1)):
        found = rnp.quantile(LINE[i], np.array(SHARES), weights=weights[i], method="inverted_cdf")
        np.testing.assert_array_equal(np.asarray(found), wanted)
    assert np.isnan(rnp.quantile(LINE, 0.5, weights=-weights, method="inverted_cdf"))


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_weights_along_axes_and_without_nan():
    weights = np.array([1.0, 2.0, 1.0], np.float32)
    options = {"axis": 1, "method": "inverted_cdf", "keepdims": True}
    for p in (20, 50, 90):
        wanted = np.percentile(TABLE, p, weights=weights, **options)
        np.testing.assert_array_equal(
            np.asarray(rnp.percentile(TABLE, p, weights=weights, **options)), wanted
        )
    holes = np.where(TABLE == 8, np.nan, TABLE)
    assert listed(rnp.nanquantile(holes, 0.9, axis=1, weights=weights, method="inverted_cdf")) == [4, 9]
    assert np.isnan(rnp.quantile(holes, 0.9, weights=np.ones_like(holes), method="inverted_cdf"))
    assert listed(rnp.quantile(LINE, 0.3, method="inverted_cdf")) == np.quantile(
        LINE, 0.3, method="inverted_cdf"
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_share_of_all_is_the_last_element_that_counts(seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=1001).astype(np.float32), rng.random(1001).astype(np.float32)
    largest = values.argmax()
    weights[largest] = 0
    options = {"weights": weights, "method": "inverted_cdf"}
    assert rnp.quantile(values, 1.0, **options) == np.delete(values, largest).max()
    values[largest] = np.nan
    assert rnp.nanquantile(values, 1.0, **options) == np.nanmax(values)


def test_weights_of_axes_in_any_order():
    block = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
    weights = np.random.default_rng(1).random((5, 3)).astype(np.float32)
    found = rnp.quantile(block, 0.4, axis=(2, 0), weights=weights, method="inverted_cdf")
    wanted = np.quantile(block, 0.4, axis=(0, 2), weights=weights.T, method="inverted_cdf")
    assert listed(found) == wanted.tolist()


def test_half_precision_counts_places():
    line = np.linspace(0, 1, 70_000).astype(np.float16)
    assert listed(rnp.median(line)) == np.median(line.astype(np.float32)) == 0.5
    assert rnp.median(line).dtype == np.float16
    assert listed(rnp.quantile(line[:10_001], np.float32(0.7), method="lower")) == float(line[7_000])


def test_quantiles_refuse_what_does_not_fit():
    with pytest.raises(
        NotImplementedError, match="only the method 'inverted_cdf' takes weights, got 'linear'"
    ):
        rnp.quantile(LINE, 0.5, weights=LINE)
    with pytest.raises(ValueError, match=r"weights of the shape \(2,\) fit neither .* axes 1"):
        rnp.quantile(TABLE, 0.5, axis=1, weights=np.ones(2), method="inverted_cdf")


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_a_mean_that_is_known(name):
    mean = TABLE.mean(1, keepdims=True) + 1
    wanted = getattr(np, name)(TABLE, axis=1, mean=mean, ddof=1)
    np.testing.assert_allclose(
        np.asarray(getattr(rnp, name)(TABLE, axis=1, mean=mean, ddof=1)), wanted, rtol=1e-6
    )
    assert listed(getattr(rnp, name)(TABLE, mean=2)) > listed(getattr(rnp, name)(TABLE))


def test_dtypes_of_results():
    assert rnp.argsort(LINE, dtype="int8", descending=True).dtype == np.int8
    assert rnp.cov(TABLE, dtype="float16").dtype == rnp.corrcoef(TABLE, dtype="float16").dtype == np.float16
    assert rnp.ravel_multi_index((A, B), (5, 5), dtype="int8").dtype == np.int8
    with pytest.raises(ValueError, match="cov: dtype must be a float or complex dtype, got int32"):
        rnp.cov(A, dtype="int32")
    with pytest.raises(ValueError, match="ravel_multi_index: dtype must be an integer dtype"):
        rnp.ravel_multi_index((A, B), (5, 5), dtype="float32")


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_top_k_from_either_end():
    line = np.array([1.0, np.nan, -np.inf, 3.0], np.float32)
    assert listed(rnp.top_k(line, 3, mode="smallest")) == [[-np.inf, 1, 3], [2, 0, 3]]
    assert listed(rnp.top_k(TABLE, 1, axis=0, mode="smallest", sorted=False)) == [[[4, 1, 3]], [[0, 0, 0]]]
    for bad, options in ((line, {"mode": "middle"}), (line + 1j, {}), (line, {"mode": "smallest", "k": 5})):
        with pytest.raises(ValueError, match="top_k"):
            rnp.top_k(bad, options.pop("k", 2), **options)


@pytest.mark.parametrize("trim", ["fb", "f", "B"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, -1)])
def test_trim_zeros_of_any_dimensions(trim, axis):
    table = np.array([[0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 0, 0]])
    low, high = (1 if "f" in trim else 0), (-1 if "b" in trim.lower() else None)
    rows = slice(low, high) if axis != 1 else slice(None)
    columns = slice(low, high) if axis != 0 else slice(None)
    assert listed(rnp.trim_zeros(table, trim, axis)) == table[rows, columns].tolist()
    assert rnp.trim_zeros(np.zeros((2, 3)), axis=1).shape == (2, 0)


def test_positions_that_do_not_count_from_the_end():
    at = np.array([-1, 0, 2])
    assert listed(rnp.take_along_axis(A, at, 0)) == [3, 1, 2]
    assert listed(rnp.take_along_axis(A, at, 0, "fill", 9, wrap_negative_indices=False)) == [9, 1, 2]
    assert listed(rnp.take_along_axis(A, at, 0, "clip", wrap_negative_indices=False)) == [1, 1, 2]


def test_methods():
    table = rnp.asarray(TABLE)
    assert listed(table.compress(np.array([False, True, True]), axis=1)) == TABLE[:, 1:].tolist()
    assert listed(table.compress(condition=np.arange(6) % 2 == 0, size=4, fill_value=9)) == [4, 3, 7, 9]
    copied = table.astype("float32", copy=True, device=table.device)
    assert copied.committed and copied.raw.unsafe_buffer_pointer() != table.raw.unsafe_buffer_pointer()
    assert table.flatten(out_sharding=table.sharding).committed
    assert table.reshape(3, 2, out_sharding=table.sharding).committed


def test_names_of_arguments():
    assert listed(rnp.fmax(x1=LINE, x2=3)) == [3, 3, 4, 8] and listed(rnp.gcd(x1=A, x2=2)) == [1, 2, 2, 1]
    assert listed(rnp.trunc(x=LINE)) == LINE.tolist() and listed(rnp.isreal(x=LINE)) == [True] * 4
    assert rnp.reshape(a=LINE, shape=(2, 2)).shape == (2, 2) and rnp.iinfo(int_type="int8").max == 127
    assert rnp.linalg.tensordot(LINE, LINE, axes=1) == rnp.linalg.matmul(LINE, LINE) == 85
    assert listed(rnp.lexsort((A, B), batch_size=1)) == np.lexsort((A, B)).tolist()
    with pytest.raises(ValueError, match="batch_size must be positive"):
        rnp.lexsort((A, B), batch_size=0)
    with pytest.raises(NotImplementedError, match=r"isposinf: .* out= must be left out"):
        rnp.isposinf(LINE, LINE)
    with pytest.raises(ValueError, match="mode 'edge' takes no further arguments, got constant_values"):
        rnp.pad(LINE, 1, "edge", constant_values=1)
    with pytest.raises(ValueError, match="clip takes an array first"):
        rnp.clip()


@pytest.mark.parametrize(
    "function",
    [
        lambda **kw: rnp.zeros((2,), **kw), lambda **kw: rnp.full_like(LINE, 2, **kw),
        lambda **kw: rnp.arange(3, **kw),
        lambda **kw: rnp.array([1.0], **kw), lambda **kw: rnp.reshape(LINE, (2, 2), **kw),
        lambda **kw: rnp.matmul(LINE, LINE, **kw), lambda **kw: rnp.einsum("i,i", LINE, LINE, **kw),
        lambda **kw: rnp.bincount(A, **kw), lambda **kw: rnp.percentile(LINE, 50, **kw),
    ],
)  # fmt: skip
def test_where_results_are(function):
    device = rnp.zeros(()).device
    sharding = rnp.zeros(()).sharding
    assert function(out_sharding=sharding).device is device and function(out_sharding=sharding).committed
    assert not function(out_sharding=None).committed
    with pytest.raises(TypeError, match="out_sharding must be None or a Sharding"):
        function(out_sharding="everywhere")


def test_dtypes_of_positions_and_sides_to_trim_are_checked():
    assert rnp.argsort(LINE, dtype="int8").dtype == np.int8
    with pytest.raises(ValueError, match="argsort: dtype must be an integer dtype, got float32"):
        rnp.argsort(LINE, dtype="float32")
    with pytest.raises(ValueError, match="argsort: int8 cannot hold positions up to 299"):
        rnp.argsort(np.zeros(300, np.float32), dtype="int8")
    with pytest.raises(ValueError, match="trim_zeros: trim must be 'f', 'b' or 'fb', got 'x'"):
        rnp.trim_zeros(LINE, "x")
