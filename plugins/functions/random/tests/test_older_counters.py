"""Numbers of the older counters of Threefry, recorded from JAX 0.12, and draws at the ends of
distributions.
"""

import math

import numpy as np
import pytest
import rabbet as rb
from rabbet import random

pytestmark = pytest.mark.needs("numpy", "jit", "vmap")

BITS = {
    8: [6, 40, 135, 40, 176], 16: [1218, 35176, 24082, 4804, 7151],
    32: [2070733165, 14393514, 3167427858, 829585083, 3829859948],
}  # fmt: skip
WIDE = [
    16926785194471471890, 7737902753563268494, 17727770497604539214, 8665964221696414403, 1692458402734183593,
]  # fmt: skip


def test_bits_and_keys_of_the_older_counters():
    key = random.key(72)
    with rb.config.override(threefry_partitionable=False):
        for width, expected in BITS.items():
            assert random.bits(key, (5,), f"uint{width}").tolist() == expected
        assert random.bits(key, (), "uint32") == 1146130490
        assert random.bits(key, (2, 3)).ravel().tolist()[2] == 3313047288
        split = random.key_data(random.split(key, 3)).ravel().tolist()
        assert split == [2070733165, 14393514, 3313047288, 829585083, 3829859948, 1444374648]
        assert random.key_data(random.fold_in(key, 3)).tolist() == [2070733165, 829585083]
        assert random.bits(key, (0,)).shape == (0,)
        assert random.bits(key, (5,), "uint64").tolist() == WIDE
    # A program is kept for each value of the setting.
    assert random.bits(key, (4,)).tolist() == [746326181, 2082932918, 2829721389, 1243518934]


@pytest.mark.needs("jit")
def test_compiled_functions_follow_the_setting():
    draw = rb.jit(lambda key: random.normal(key, (3,)))
    new = draw(random.key(0))
    with rb.config.override(threefry_partitionable=False):
        old = draw(random.key(0))
        np.testing.assert_array_equal(old, random.normal(random.key(0), (3,)))
    assert not (np.asarray(new) == np.asarray(old)).any()


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_endless_trials():
    n = np.array([-1, 0, math.nan, math.inf], "float32")
    drawn = np.asarray(random.binomial(random.key(0), n, 0.5))
    np.testing.assert_array_equal(drawn, [math.nan, 0, math.nan, math.inf])
