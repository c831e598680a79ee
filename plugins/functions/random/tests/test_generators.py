"""Generators beside Threefry, one of a stranger's, and the generator with a state."""

import copy
import pickle

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, random
from rabbet.experimental.random import StatefulPRNG, stateful_rng


def words(keys):
    return np.asarray(random.key_data(keys)).tolist()


@pytest.mark.narrow
def test_rbg_are_two_threefry_keys_side_by_side():
    key, plain = random.key(42, impl="rbg"), random.key(42)
    assert str(key.dtype) == "key<rbg>" and random.key_impl(key) == "rbg" and key.shape == ()
    assert words(key) == words(plain) * 2
    assert words(random.split(key, 3)) == [pair * 2 for pair in words(random.split(plain, 3))]
    assert words(random.fold_in(key, 5)) == words(random.fold_in(plain, 5)) * 2
    bits = lax.rng_bit_generator(random.key_data(key), (5,))[1]
    assert np.asarray(random.bits(key, (5,))).tolist() == np.asarray(bits).tolist()


def test_unsafe_rbg_makes_keys_of_its_own_bits():
    key = random.key(42, impl="unsafe_rbg")
    bits = np.asarray(lax.rng_bit_generator(random.key_data(key), (30, 4))[1])
    assert words(random.split(key, 3)) == bits[::10].tolist()
    assert random.split(key, (2, 2)).shape == (2, 2)
    assert words(random.fold_in(key, 1)) != words(random.fold_in(key, 2))


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_samplers_take_every_generator(impl):
    key = random.key(7, impl=impl)
    x = np.asarray(random.normal(key, (4000,)))
    assert abs(x.mean()) < 0.1 and abs(x.std() - 1) < 0.1
    assert sorted(np.asarray(random.permutation(key, 20)).tolist()) == list(range(20))
    assert abs(np.asarray(random.gamma(key, 2.0, (300,))).mean() - 2) < 0.4
    assert abs(np.asarray(random.poisson(key, 4.0, (500,))).mean() - 4) < 0.5
    each = rb.vmap(lambda k: random.uniform(k, (2,)))(random.split(key, 2))
    alone = [np.asarray(random.uniform(k, (2,))) for k in random.split(key, 2)]
    np.testing.assert_array_equal(each, alone)
    again = random.wrap_key_data(random.key_data(key), impl=impl)
    assert words(again) == words(key) and again.dtype == key.dtype
    assert random.PRNGKey(7, impl=impl).shape == (4,)


def counting_split(data, shape):
    return lax.add(
        lax.broadcast_in_dim(data, (*shape, 1), (len(shape),)), lax.broadcasted_iota("uint32", (*shape, 1), 0)
    )


def counting_bits(data, shape, width):
    values = lax.add(
        lax.broadcast_in_dim(data, (int(np.prod(shape)),), (0,)), lax.iota("uint32", int(np.prod(shape)))
    )
    return lax.convert_element_type(lax.reshape(values, shape), f"uint{width}")


COUNTING = random.Generator(
    "counting", "count", (1,), lambda seed: seed[1:], counting_split, lambda data, n: lax.add(data, n),
    counting_bits,
)  # fmt: skip


@pytest.mark.needs("jit")
def test_a_generator_of_ones_own():
    key = random.key(5, impl=COUNTING)
    assert str(key.dtype) == "key<count>" and words(key) == [5]
    assert np.asarray(random.bits(key, (3,))).tolist() == [5, 6, 7]
    assert words(random.split(key)) == [[5], [6]]
    assert words(rb.jit(lambda k: random.fold_in(k, 2))(key)) == [7]


def test_an_entry_point_gives_a_name(monkeypatch):
    import importlib.metadata as metadata

    entry = metadata.EntryPoint("counting", f"{__name__}:COUNTING", "rabbet.generators")
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: COUNTING)
    entries = lambda **wanted: metadata.EntryPoints([entry]).select(**wanted)
    monkeypatch.setattr(metadata, "entry_points", entries)
    assert random.key_dtype("counting").generator is COUNTING
    with pytest.raises(
        ValueError, match=r"unknown generator 'other'.*threefry2x32, rbg, unsafe_rbg, counting"
    ):
        random.key(0, impl="other")


def test_keys_travel():
    for impl in ("threefry2x32", "rbg"):
        key = random.key(3, impl=impl)
        for other in (pickle.loads(pickle.dumps(key)), copy.copy(key), copy.deepcopy(key)):
            assert other.dtype == key.dtype and words(other) == words(key)
    with pytest.raises(TypeError, match="takes an array uint32"):
        random.wrap_key_data(np.zeros(2, "uint32"), impl="rbg")
    with pytest.raises(TypeError, match="named by a text"):
        random.key(0, impl=3)


# ------------------------------------------------------------------------------------------------ stateful
def test_a_generator_with_a_state():
    rng, base = stateful_rng(42), random.key(42)
    assert words(rng.key()) == words(random.fold_in(base, 0))
    assert words(rng.key((2,))) == words(random.split(random.fold_in(base, 1), (2,)))
    step = lambda i: random.fold_in(base, i)
    np.testing.assert_allclose(rng.uniform(1, 2, (2,)), random.uniform(step(2), (2,), minval=1, maxval=2))
    np.testing.assert_allclose(rng.normal(1, 2, (2,)), 1 + 2 * random.normal(step(3), (2,)), rtol=1e-6)
    np.testing.assert_array_equal(rng.integers(5, 10, 3), random.randint(step(4), (3,), 5, 10))
    assert 0 <= int(rng.integers(5)) < 5 and rng.random().shape == ()
    assert rng.uniform(np.zeros(3), 1).shape == (3,)
    children = random.split(step(8), 2)
    found = [float(child.random()) for child in rng.spawn(2)]
    assert found == [float(random.uniform(random.fold_in(k, 0))) for k in children]
    assert isinstance(rng, StatefulPRNG) and stateful_rng().random() != stateful_rng().random()


@pytest.mark.needs("vmap", "jit")
def test_a_state_under_transformations():
    rng = stateful_rng(42)
    twice = rb.vmap(lambda r: r.random() + 0 * r.random())(rng.split(3))
    assert len(set(np.asarray(twice).tolist())) == 3
    inside = rb.jit(lambda seed: stateful_rng(seed).random())
    assert float(inside(np.int32(5))) == float(stateful_rng(5).random())
    # What is drawn in a compiled function advances the generator, be it an argument or of the outside.
    given, outside = rb.jit(lambda r: r.random()), rb.jit(lambda: rng.random())
    drawn = [float(given(rng)), float(outside()), float(given(rng)), float(outside())]
    expected = [float(random.uniform(random.fold_in(random.key(42), i))) for i in range(1, 5)]
    np.testing.assert_allclose(drawn, expected, rtol=1e-6)
    with pytest.raises(RuntimeError, match="made outside of a function under vmap"):
        rb.vmap(lambda x: rng.random() + x)(np.arange(3.0, dtype="float32"))
