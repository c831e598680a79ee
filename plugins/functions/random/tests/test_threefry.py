"""The laws of ``threefry.py``, the published answers, then messages."""

import numpy as np
import pytest
from rabbet.random.rows import ROWS
from rabbet.random.threefry import threefry2x32
from rabbet.testing.suite import law_tests

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)

# Key, counter and result for Threefry-2x32 with 20 rounds, from the known-answer file of Random123.
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize("key, counter, wanted", KNOWN)
def test_published_answers(key, counter, wanted):
    words = threefry2x32(*[np.uint32(w) for w in (*key, *counter)])
    assert tuple([int(w) for w in words]) == wanted


def test_other_dtypes_are_refused():
    with pytest.raises(
        TypeError, match=r"takes four arrays of uint32.*got u32\[\], u32\[\], u32\[\], i32\[\]"
    ):
        threefry2x32(np.uint32(0), np.uint32(0), np.uint32(0), np.int32(0))


def test_shapes_must_agree():
    with pytest.raises(TypeError, match=r"threefry2x32 takes arrays of one shape"):
        threefry2x32(np.uint32(0), np.uint32(0), np.zeros(2, np.uint32), np.zeros(3, np.uint32))
