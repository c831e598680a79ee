"""Approximate search, which here finds all."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array

ROW = device_array(np.array([3.0, 1.0, 2.0], np.float32))
CUBE = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


def listed(*arrays):
    return [np.asarray(x).tolist() for x in arrays]


def test_approximate_search_finds_all():
    assert listed(*lax.approx_max_k(ROW, 2)) == [[3, 2], [0, 2]]
    assert listed(*lax.approx_min_k(ROW, 2, recall_target=0.5)) == [[1, 2], [1, 2]]
    values, places = lax.approx_max_k(device_array(CUBE), 1, reduction_dimension=1)
    assert values.shape == (2, 1, 4) and (np.asarray(places) == 2).all()
    with pytest.raises(ValueError, match="recall_target must be above 0 and at most 1, got 2"):
        lax.approx_max_k(ROW, 1, recall_target=2)
    with pytest.raises(TypeError, match="approx_min_k takes floating arrays, got i32"):
        lax.approx_min_k(device_array(np.arange(3, dtype=np.int32)), 1)
