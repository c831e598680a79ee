"""Reductions by segments, beside loops over them."""

import numpy as np
import pytest
from rabbet import ops

IDS = np.int32([0, 2, 0, 1, 4, 2, 0])
DATA = np.float32([5, 1, 3, 2, 4, 9, -1])
FUNCTIONS = {
    "segment_sum": (np.sum, 0), "segment_prod": (np.prod, 1),
    "segment_max": (np.max, -np.inf), "segment_min": (np.min, np.inf),
}  # fmt: skip


def wanted(name, data, ids, count):
    reduce, empty = FUNCTIONS[name]
    if data.dtype.kind == "i" and name in ("segment_max", "segment_min"):
        empty = np.iinfo(data.dtype).min if name == "segment_max" else np.iinfo(data.dtype).max
    parts = [data[ids == i] for i in range(count)]
    return np.stack([reduce(p, axis=0) if len(p) else np.full(data.shape[1:], empty) for p in parts])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_beside_a_loop(name):
    function = getattr(ops, name)
    for data in (DATA, DATA.astype("i4"), np.stack([DATA, -DATA], 1)):
        np.testing.assert_array_equal(function(data, IDS), wanted(name, data, IDS, 5))
        np.testing.assert_array_equal(function(data, IDS, 3), wanted(name, data, IDS, 3))
        np.testing.assert_allclose(
            function(data, IDS, 6, bucket_size=2), wanted(name, data, IDS, 6), rtol=1e-6
        )
        assert function(data, IDS).dtype == data.dtype
    order = np.argsort(IDS)
    sorted_ones = function(DATA[order], IDS[order], 5, True)
    np.testing.assert_array_equal(sorted_ones, wanted(name, DATA, IDS, 5))
    assert function(DATA[:0], IDS[:0], 2).shape == (2,) and function(DATA[:0], IDS[:0]).shape == (0,)


def test_ids_outside():
    ids = np.int32([0, -1, 1, 7, 0, 1, 0])
    kept = (ids >= 0) & (ids < 2)
    np.testing.assert_array_equal(
        ops.segment_sum(DATA, ids, 2), wanted("segment_sum", DATA[kept], ids[kept], 2)
    )
    clipped = np.clip(ids, 0, 1)
    found = ops.segment_sum(DATA, ids, 2, mode="clip")
    np.testing.assert_array_equal(found, wanted("segment_sum", DATA, clipped, 2))


def test_truth_values():
    flags = np.array([True, False, False, False, True, True, False])
    assert ops.segment_max(flags, IDS, 5).tolist() == [True, False, True, False, True]
    assert ops.segment_min(flags, IDS, 3, bucket_size=2).tolist() == [False, False, False]


def test_under_transformations():
    rb = pytest.importorskip("rabbet_autodiff") and __import__("rabbet")
    weights = np.float32([1, 2, 3, 4, 5])
    slope = rb.grad(lambda x: (ops.segment_sum(x, IDS, 5) * weights).sum())(DATA)
    np.testing.assert_array_equal(slope, weights[IDS])


@pytest.mark.forbidden("debug_infs")
def test_derivatives_of_greatest_elements_beside_segments_without_any():
    rb = pytest.importorskip("rabbet_autodiff") and __import__("rabbet")
    slope = rb.grad(lambda x: ops.segment_max(x, IDS, 5)[:3].sum())(DATA)
    np.testing.assert_array_equal(slope, [1, 0, 0, 1, 0, 1, 0])


@pytest.mark.forbidden("debug_infs")
def test_one_element_for_all_ids():
    for data in (np.float32(3), np.float32([3]), 3.0, 3):
        np.testing.assert_array_equal(ops.segment_sum(data, np.array([0, 1, 1]), 2), [3, 6])
    np.testing.assert_array_equal(ops.segment_max(np.float32([[1, 2]]), np.array([1, 1]), 2)[1], [1, 2])
    assert ops.segment_max(np.float32(3), np.zeros(0, int), 2).tolist() == [-np.inf, -np.inf]
    rb = pytest.importorskip("rabbet_autodiff") and __import__("rabbet")
    slope = rb.grad(lambda x: ops.segment_sum(x, np.array([0, 1, 1]), 2)[1])(np.float32(2))
    assert float(slope) == 2.0


MESSAGES = [
    (lambda: ops.segment_sum(DATA, IDS[:3]), ValueError, "a vector as long as the first dimension of data"),
    (lambda: ops.segment_sum(DATA, DATA), TypeError, "segment_ids must be integers"),
    (lambda: ops.segment_sum([1, 2], IDS), TypeError, "data must be an array, got list"),
    (lambda: ops.segment_sum(DATA, IDS, -1), ValueError, "must not be negative"),
    (lambda: ops.segment_sum(DATA, IDS, bucket_size=0), ValueError, "bucket_size must be positive"),
    (lambda: ops.segment_prod(DATA > 1, IDS), TypeError, "use segment_min for whether all hold"),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("jit")
def test_the_number_of_segments_must_be_known():
    import rabbet as rb

    with pytest.raises(rb.errors.ConcretizationTypeError, match="give num_segments"):
        rb.jit(ops.segment_sum)(DATA, IDS)
    found = rb.jit(lambda x, ids: ops.segment_sum(x, ids, 5))(DATA, IDS)
    np.testing.assert_array_equal(found, wanted("segment_sum", DATA, IDS, 5))
