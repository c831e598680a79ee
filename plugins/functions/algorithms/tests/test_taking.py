"""``index_take`` against NumPy's indexing, and its messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array

CUBE = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


def test_index_take_counts_round_and_round():
    i, j = (device_array(np.array(v, np.int32)) for v in ([0, -1, 5], [1, 3, -4]))
    wanted = [CUBE[a % 2, :, b % 4] for a, b in ((0, 1), (-1, 3), (5, -4))]
    np.testing.assert_array_equal(np.asarray(lax.index_take(device_array(CUBE), (i, j), (0, 2))), wanted)
    with pytest.raises(TypeError, match=r"for each of the axes \(0, 1\), got i32\[3\]"):
        lax.index_take(device_array(CUBE), (i,), (0, 1))
    with pytest.raises(ValueError, match=r"axes \(0, 0\) must be different ones of an array of 3 dimensions"):
        lax.index_take(device_array(CUBE), (i, i), (0, 0))
