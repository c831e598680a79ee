"""Functions that compare integers with a sign with integers without one."""

import numpy as np
import pytest
import rabbet.numpy as rnp

SMALL, LARGE = np.array([-1, 1, 5], "int8"), np.array([1, 5, 4294967295], "uint32")
OPERANDS = rnp.asarray(SMALL), rnp.asarray(LARGE)
ENDS = np.array([-1, 2**24], "int64"), np.array([2**64 - 1, 2**24 + 1], "uint64")


@pytest.mark.forbidden("explicit_x64_dtypes", "numpy_dtype_promotion")
@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
def test_comparisons(name):
    for x, y in (OPERANDS, [rnp.asarray(end, dtype=end.dtype) for end in ENDS]):
        for a, b in ((x, y), (y, x)):
            wanted = getattr(np, name)(np.asarray(a).astype(object)[:, None], np.asarray(b).astype(object))
            np.testing.assert_array_equal(getattr(rnp, name)(a[:, None], b), wanted.astype(bool))


@pytest.mark.forbidden("numpy_dtype_promotion")
@pytest.mark.parametrize("name", ["isin", "intersect1d", "setdiff1d", "array_equal"])
def test_membership(name):
    for a, b, x, y in ((*OPERANDS, SMALL, LARGE), (*OPERANDS[::-1], LARGE, SMALL)):
        np.testing.assert_array_equal(getattr(rnp, name)(a, b), getattr(np, name)(x, y))


@pytest.mark.parametrize("side", ["left", "right"])
def test_places(side):
    for a, b, x, y in ((*OPERANDS, SMALL, LARGE), (*OPERANDS[::-1], LARGE, SMALL)):
        np.testing.assert_array_equal(rnp.searchsorted(a, b, side), np.searchsorted(x, y, side))
