"""lax.map: a stack of calls, one after the other or in batches."""

import numpy as np
import pytest
from rabbet import lax

R = np.random.RandomState(0)
X = np.arange(4.0, dtype=np.float32)


def a_step(x):
    return x


def test_map_is_a_stack_of_calls():
    np.testing.assert_array_equal(lax.map(lambda x: x * x, X), X * X)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 9])
def test_map_by_batches(size):
    xs = {"a": R.randn(7, 3).astype("f4"), "b": np.arange(7, dtype="f4")}
    seen = []

    def f(x):
        seen.append(x["a"].shape)
        return x["a"] * x["b"], lax.reduce_sum(x["a"], axes=(0,))

    got = lax.map(f, xs, batch_size=size)
    np.testing.assert_allclose(got[0], xs["a"] * xs["b"][:, None], rtol=1e-6)
    np.testing.assert_allclose(got[1], xs["a"].sum(1), rtol=1e-5)
    assert set(seen) == {(3,)}


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: lax.map(a_step, (X, X[:2])), r"map of a_step \(.*4 by xs\[0\].*2 by xs\[1\]"),
        (lambda: lax.map(a_step, np.ones(3), batch_size=-1), "must not be negative"),
        (lambda: lax.map(a_step, (np.ones(3), np.ones(4)), batch_size=2), "map of .*3 by xs"),
        (lambda: lax.map(a_step, ()), "map of .*xs holds no arrays\n"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
