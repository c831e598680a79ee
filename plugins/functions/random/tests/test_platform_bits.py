"""The backends' generators: their keys, what mapping means, messages. The bits are XLA's business."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.lax import RandomAlgorithm
from rabbet.testing import driver
from rabbet.testing.draws import device_array, floats
from rabbet.testing.slopes import slope

KEYS = device_array(np.arange(8, dtype=np.uint32).reshape(2, 4))
KEY = device_array(np.arange(4, dtype=np.uint32))
WIDE = device_array(np.array([1, 2], np.uint64))


def bits(key, **more):
    return lax.rng_bit_generator(key, (3,), **more)


def same(xs, ys):
    for x, y in zip(xs, ys, strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize("algorithm", RandomAlgorithm)
def test_bits_depend_on_the_key_alone(algorithm):
    first = bits(KEY, algorithm=algorithm)
    same(first, driver.jit(lambda key: bits(key, algorithm=algorithm))(KEY))
    assert np.asarray(bits(first[0], algorithm=algorithm)[1]).tolist() != np.asarray(first[1]).tolist()


def test_the_named_generators_give_the_bits_that_they_are_known_for():
    known = {
        RandomAlgorithm.RNG_PHILOX: [895509795, 3230209149, 3834998268],
        RandomAlgorithm.RNG_THREE_FRY: [2689575991, 2205648888, 150810639],
    }
    for algorithm, numbers in known.items():
        assert np.asarray(bits(KEY, algorithm=algorithm)[1]).tolist() == numbers


def test_dtypes_and_both_forms_of_keys():
    for dtype in ("uint8", "int16", "int32", "uint64"):
        assert bits(KEY, dtype=dtype)[1].dtype == np.dtype(dtype)
    key, out = bits(WIDE)
    assert (key.shape, key.dtype, out.dtype) == ((2,), np.uint64, np.uint32)


def test_each_mapped_key_gives_what_it_gives_alone():
    mapped = driver.vmap(lambda key: tuple(bits(key)), (0,))(KEYS)
    for i in range(2):
        same([x[i] for x in mapped], bits(KEYS[i]))


def test_uniform_numbers_lie_between_their_bounds():
    x = np.asarray(lax.rng_uniform(2.0, 3.0, (1000,)))
    assert ((x >= 2.0) & (x < 3.0)).all() and 0.05 < x.std() < 0.5
    n = np.asarray(lax.rng_uniform(np.int32(0), np.int32(5), (1000,)))
    assert set(n.tolist()) == set(range(5))
    (mapped,) = driver.vmap(lambda a: (lax.rng_uniform(a, lax.add(a, 1.0), (50,)),), (0,))(floats(0, 5, 9))
    assert (np.floor(np.asarray(mapped)) == [[0], [5], [9]]).all()


def test_messages():
    with pytest.raises(TypeError, match=r"the key must be uint32\[4\] or uint64\[2\], got u32\[2, ?4\]"):
        bits(KEYS)
    with pytest.raises(
        TypeError, match=r"rng_bit_generator, as dtype, takes signed integer or unsigned integer"
    ):
        bits(KEY, dtype="float32")
    with pytest.raises(TypeError, match=r"rng_uniform: the bounds must be scalars, got f32\[1\], f32\[\]"):
        lax.rng_uniform(floats(1), 2.0, ())
    with pytest.raises(MissingRule, match="a generator with hidden state have no derivative"):
        slope(lambda a: lax.rng_uniform(lax.reduce_sum(a, (0,)), 2.0, (1,)), floats(1))
