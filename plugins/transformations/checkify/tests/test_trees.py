"""Messages are formatted by trees of values, and by keys."""

import pytest
import rabbet as rb
from rabbet.experimental import checkify

rnp = pytest.importorskip("rabbet.numpy")


def test_trees_as_values_for_the_message():
    def f(x):
        checkify.check(x["a"] > 0, "{} and {all[b][0]}", x["a"], all=x)
        return x["a"]

    error, _ = rb.jit(checkify.checkify(f))({"a": -1.0, "b": (rnp.arange(2),)})
    assert error.get().startswith("-1.0 and [0 1] (`check` failed")
    error, _ = rb.vmap(checkify.checkify(f))({"a": rnp.array([1.0, -2.0]), "b": (rnp.ones(2),)})
    assert error.get().startswith("at mapped index 1: -2.0 and 1.0")


def test_keys_as_values_for_the_message():
    pytest.importorskip("rabbet.random")

    def f(x, key):
        checkify.check(x > 0, "{x} with {key}", x=x, key=key)
        checkify.check(x > 1, "small")
        return x

    error, _ = rb.jit(checkify.checkify(f))(-1.0, rb.random.key(3))
    assert error.get().startswith("-1.0 with Array((), dtype=key<fry>")


def test_what_is_no_array_within_a_tree_is_refused():
    with pytest.raises(TypeError, match=r"arrays and numbers, \"all\['b'\]\" is"):
        checkify.check(True, "{all}", all={"b": "text"})
    with pytest.raises(TypeError, match=r"a value\['b'\] is"):
        checkify.check(True, "{}", {"b": "text"})
