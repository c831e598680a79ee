"""Keys: from seeds, in both forms, and from other keys."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import dtypes, lax, random


def words(key):
    return np.asarray(random.key_data(key)).tolist()


SEEDS = {
    0: 0, 1: 1, -1: 2**32 - 1, -5: 2**32 - 5, 2**31: 2**31, 2**32 - 1: 2**32 - 1, 2**32 + 7: 7, -(2**40): 0,
    2**63 - 1: 2**32 - 1, -(2**63): 0, 2**64 - 1: 2**32 - 1,
}  # fmt: skip


@pytest.mark.parametrize("seed, low", SEEDS.items())
@pytest.mark.narrow
def test_python_seeds_count_32_bits(seed, low):
    assert words(random.key(seed)) == [0, low]
    assert words(random.PRNGKey(seed)) == [0, low]


@pytest.mark.parametrize("seed", SEEDS)
def test_python_seeds_count_64_bits_on_request(seed):
    with rb.config.override(enable_x64=True):
        assert words(random.key(seed)) == [(seed >> 32) % 2**32, seed % 2**32]


NARROW = [np.int8(-1), np.uint8(255), np.int16(-7), np.int32(-7), np.uint32(2**32 - 1), np.bool_(True), True]


@pytest.mark.parametrize("seed", NARROW, ids=repr)
@pytest.mark.parametrize("wide", [False, True])
def test_narrow_seeds_have_no_high_word(seed, wide):
    if isinstance(seed, bool) and wide:
        pytest.skip("a Python number is 64 bits wide here")
    with rb.config.override(enable_x64=wide):
        assert words(random.key(seed)) == [0, int(seed) % 2**32]


def test_array_seeds():
    assert words(random.key(lax.full((), -7, np.int32))) == [0, 2**32 - 7]
    assert words(random.key(np.array(3))) == [0, 3]
    wide = lax.shift_left(lax.full((), 5, np.int64), 33)
    assert words(random.key(wide)) == [10, 0]
    assert words(random.key(lax.neg(wide))) == [2**32 - 10, 0]


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_that_do_not_fit(seed):
    with pytest.raises(OverflowError, match=f"key: the seed {seed} does not fit 64 bits"):
        random.key(seed)


@pytest.mark.narrow
def test_no_seeds():
    with pytest.raises(TypeError, match=r"key: the seed is an integer, got float 1.5"):
        random.key(1.5)
    with pytest.raises(TypeError, match=r"key: the seed is an integer, got an array f32\[\]"):
        random.key(np.float32(1))
    with pytest.raises(
        TypeError, match=r"PRNGKey: the seed is one integer, got an array i32\[2\]; for many keys"
    ):
        random.PRNGKey(np.array([1, 2]))


def test_forms():
    typed, legacy = random.key(3), random.PRNGKey(3)
    assert (typed.shape, typed.dtype) == ((), random.key_dtype())
    assert (legacy.shape, legacy.dtype) == ((2,), np.uint32)
    assert dtypes.issubdtype(typed.dtype, dtypes.prng_key)
    assert not dtypes.issubdtype(legacy.dtype, dtypes.prng_key)
    assert repr(typed) == "Array((), dtype=key<fry>) overlaying:\n[0 3]"
    assert words(random.wrap_key_data(legacy)) == words(typed) == words(legacy) == [0, 3]
    assert random.key_impl(typed) == random.key_impl(legacy) == "threefry2x32"
    assert bool(random.clone(typed) == typed)
    assert random.wrap_key_data(np.zeros((4, 2), np.uint32)).shape == (4,)


def test_generator_by_name():
    assert words(random.key(1, impl="threefry2x32")) == words(random.key(1, impl=random.key_dtype()))
    with pytest.raises(ValueError, match=r"unknown generator 'rgb': rabbet.random has threefry2x32, rbg"):
        random.key(1, impl="rgb")


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
def test_new_keys_have_the_form_of_the_old(make):
    key = make(0)
    assert random.split(key).dtype == random.fold_in(key, 1).dtype == key.dtype
    assert random.split(key, 5).shape == (5, *key.shape)
    assert random.split(key, (2, 3)).shape == (2, 3, *key.shape)
    assert random.split(key, 0).shape == (0, *key.shape)
    assert words(random.split(key, 3)) == words(random.split(random.key(0), 3))
    assert random.uniform(key, (3,)).tolist() == random.uniform(random.key(0), (3,)).tolist()


def test_splitting_is_the_generator_at_positions():
    """So fewer keys are the first of more, and fold_in is the generator at its number."""
    key = random.key(9)
    assert words(random.split(key, 2)) == words(random.split(key, 7))[:2]
    assert words(random.split(key, (2, 3))) == np.reshape(words(random.split(key, 6)), (2, 3, 2)).tolist()
    assert words(random.fold_in(key, 4)) == words(random.split(key, 5))[4]


def test_legacy_keys_of_numpy():
    assert random.bits(np.array([0, 3], np.uint32)).tolist() == random.bits(random.key(3)).tolist()


def test_keys_unpack_and_move():
    first, second = random.split(random.key(0))
    keys = random.split(random.key(0), 6)
    assert words(keys[0]) == words(first)
    assert words(keys[1:3]) == words(keys)[1:3]
    assert words(lax.reshape(keys, (2, 3))[1]) == words(keys)[3:]
    assert [words(k) for k in keys] == words(keys)
    assert words(lax.stack([first, second])) == words(random.split(random.key(0)))
    assert words(pickle.loads(pickle.dumps(keys))) == words(keys)


@pytest.mark.needs("numpy")
def test_keys_in_numpy_functions():
    import rabbet.numpy as rnp

    first, second = random.split(random.key(0))
    assert words(rnp.stack([first, second])) == [words(first), words(second)]
    assert words(rnp.where(np.array([True, False]), first, second)) == [words(first), words(second)]
    assert words(rnp.concatenate([random.split(first), random.split(second)])[3]) == words(
        random.split(second)[1]
    )


NO_KEYS = {
    r"uniform needs a key, got an array i32\[\]: make one with rabbet.random.key\(seed\)": 3,
    "uniform needs a key, got NoneType": None,
    "uniform needs a key, got list": [0, 1],
    r"uniform needs a key, got an array u32\[3\]": np.zeros(3, np.uint32),
    r"uniform needs a key, got an array i32\[2\]": np.zeros(2, np.int32),
    r"uniform needs a key, got an array f32\[\]": np.float32(1),
}


@pytest.mark.parametrize("message, key", NO_KEYS.items())
@pytest.mark.narrow
def test_what_is_no_key(message, key):
    with pytest.raises(TypeError, match=message):
        random.uniform(key)


def test_many_keys_where_one_is_needed():
    keys = random.split(random.key(0), 4)
    for many in (keys, random.key_data(keys)):
        with pytest.raises(
            ValueError, match=r"normal takes a single key, got an array of them of the shape \(4,\).*vmap"
        ):
            random.normal(many)


def test_no_key_data():
    with pytest.raises(TypeError, match=r"wrap_key_data takes an array uint32\[..., 2\], got i32\[2\]"):
        random.wrap_key_data(np.zeros(2, np.int32))
    with pytest.raises(TypeError, match=r"wrap_key_data takes an array .* got list"):
        random.wrap_key_data([1, 2])
    with pytest.raises(TypeError, match="key_data needs a key, got float"):
        random.key_data(1.0)


@pytest.mark.narrow
def test_fold_in_takes_a_word():
    key = random.key(0)
    assert words(random.fold_in(key, 2**32 - 1)) == words(random.fold_in(key, lax.full((), -1, np.int32)))
    for number in (-1, 2**32):
        with pytest.raises(OverflowError, match=f"fold_in: the number {number} is not between 0 and"):
            random.fold_in(key, number)
    with pytest.raises(TypeError, match=r"fold_in takes one integer, got f32\[\]"):
        random.fold_in(key, 1.5)
    with pytest.raises(TypeError, match=r"fold_in takes one integer, got i32\[3\].*vmap"):
        random.fold_in(key, np.arange(3))


def test_absent_names_say_so():
    with pytest.raises(AttributeError, match=r"rabbet.random has no 'gama' .*normal"):
        _ = random.gama


def test_the_generator_may_be_named_by_its_dtype():
    dtype = random.key_dtype(impl_spec="threefry2x32")
    assert words(random.key(3, dtype=dtype)) == words(random.wrap_key_data(np.uint32([0, 3]), dtype=dtype))
    with pytest.raises(ValueError, match="wrap_key_data: give impl or dtype, not both"):
        random.wrap_key_data(np.uint32([0, 3]), impl="threefry2x32", dtype=dtype)
    with pytest.raises(ValueError, match="unknown generator 'float32'"):
        random.key(3, dtype="float32")
    assert dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True) is dtype
    with pytest.raises(ValueError, match="canonicalize_dtype: key<fry> has no numbers"):
        dtypes.canonicalize_dtype(dtype)


def test_draws_say_where_they_are():
    key = random.key(0)
    sharding = random.bits(key).sharding
    draws = {"uniform": (), "randint": ((2,), 0, 5), "normal": ((2,),), "permutation": (4,), "bernoulli": ()}
    for name, args in draws.items():
        draw = getattr(random, name)
        assert draw(key, *args, out_sharding=sharding).committed and not draw(key, *args).committed
        with pytest.raises(TypeError, match=f"{name}: out_sharding must be None or a Sharding"):
            draw(key, *args, out_sharding="everywhere")


def test_keys_are_close_where_they_are_equal():
    rnp = pytest.importorskip("rabbet.numpy")
    keys = rb.random.split(rb.random.key(0))
    assert rnp.isclose(keys, keys[0]).tolist() == [True, False]
    assert bool(rnp.allclose(keys, keys)) and not bool(rnp.allclose(keys, keys[::-1]))


@pytest.mark.needs("jit", "numpy")
def test_keys_made_in_loops_from_counters_of_64_bits():
    """In a process with a limit: XLA's compiler did not end, and nothing can interrupt it."""
    program = """
import rabbet as rb, rabbet.numpy as rnp
from rabbet import lax, random
key, numbers = random.key(0), rnp.arange(7, 10)
draw = lambda i: random.normal(random.fold_in(key, i), (40,), "float32")
total = lambda x: lax.scan(lambda sum, i: (sum + draw(i), None), x, numbers)[0]
of_loop = rb.jit(total)(rnp.zeros(40, "float32"))
print(rnp.allclose(of_loop, draw(7) + draw(8) + draw(9), atol=1e-6), numbers.dtype)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=True,
        env={**os.environ, "RABBET_ENABLE_X64": "1"},
    )  # fmt: skip
    assert ended.stdout.split() == ["True", "int64"]


@pytest.mark.needs("jit", "numpy", "vmap")
def test_keys_for_many_made_in_a_loop():
    """A loop over environments that draw where they begin again, as reinforcement learning has it: XLA's
    compiler did not end with jaxlib 0.12.
    """
    program = """
import rabbet as rb, rabbet.numpy as rnp
from rabbet import lax, random

def start(key):
    state = (*random.uniform(key, (2,), minval=-0.5, maxval=0.5), 0)
    return state, rnp.array(state[:2])

def advance(key, state, action):
    place, speed, t = state
    speed = speed + 0.1 * (rnp.array([-1.0, 0.0, 1.0])[action] - place)
    place, t = place + 0.1 * speed, t + 1
    ended = (rnp.abs(place) > 2) | (t >= 50)
    state = rb.tree.map(lambda a, b: rnp.where(ended, a, b), start(key)[0], (place, speed, t))
    return state, rnp.array(state[:2]), -(place**2)

def step(carry, _):
    state, seen, key = carry
    key, _, own = random.split(key, 3)
    state, seen, reward = rb.vmap(advance)(random.split(own, 8), state, seen.argmax(-1))
    return (state, seen, key), reward

def run(key):
    return lax.scan(step, (*rb.vmap(start)(random.split(key, 8)), key), None, 5)[1]

key = random.key(0)
print(rnp.allclose(rb.jit(run)(key), run(key), atol=1e-5))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert ended.stdout.split() == ["True"], ended.stderr


@pytest.mark.needs("cpu", "jit", "numpy")
def test_places_of_numbers_that_are_drawn_compile():
    # Without barriers between the steps of the search the compiler did not end, so the program has a limit.
    program = """
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import random

def resample(key, weights):
    at = (rnp.arange(100.0) + random.uniform(key, (100,))) / 100
    return rnp.searchsorted(rnp.cumsum(weights), at)

weights = rnp.arange(100.0) / 4950
key = random.key(0)
print((rb.jit(resample)(key, weights) == resample(key, weights)).all())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert ended.stdout.split() == ["True"], ended.stderr


def test_the_type_of_annotations():
    assert random.Key is rb.Array and isinstance(random.key(0), random.Key)


def test_keys_out_of_range_are_filled_as_what_they_are_stored_as():
    keys = random.split(random.key(1), 3)
    out = keys.at[np.array([0, 7])].get(mode="fill")
    data = np.asarray(random.key_data(out))
    assert out.dtype == keys.dtype and (data[1] == np.iinfo("uint32").max).all()
    assert (data[0] == np.asarray(random.key_data(keys))[0]).all()
