"""Which generator makes keys that name none is a set that packages open."""

import pytest
import rabbet as rb
from rabbet import random
from rabbet.random import Generator, generators


def counting():
    """A stranger's generator: its bits are its key's number."""
    return Generator(
        "counting_for_a_test", "cnt", (1,),
        seed=lambda words: words[1:],
        split=lambda data, shape: rb.lax.broadcast_in_dim(data, (*shape, 1), (len(shape),)),
        fold_in=lambda data, number: data + number,
        random_bits=lambda data, shape, width: rb.lax.broadcast_in_dim(data[0], shape, ()),
    )  # fmt: skip


def test_a_strangers_generator_can_be_the_default(monkeypatch):
    monkeypatch.setitem(generators._found, "counting_for_a_test", counting())
    with rb.config.override(default_prng_impl="counting_for_a_test"):
        assert random.key(7).dtype.name == "key<cnt>"


def test_a_name_that_nobody_offers_is_refused_with_those_there_are():
    told = r"default_prng_impl is 'no_such_generator'.*threefry2x32, rbg"
    with rb.config.override(default_prng_impl="no_such_generator"), pytest.raises(ValueError, match=told):
        random.key(0)
