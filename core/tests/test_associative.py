"""associative_scan, and map by batches: loops in NumPy as oracle."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

R = np.random.RandomState(0)


def loop(fn, xs, reverse=False, axis=0):
    """All prefixes one after the other."""
    parts = list(np.moveaxis(xs, axis, 0))
    out = [parts.pop(-1 if reverse else 0)]
    while parts:
        out.append(fn(out[-1], parts.pop(-1 if reverse else 0)))
    return np.moveaxis(np.stack(out[::-1] if reverse else out), 0, axis)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_prefixes(n, reverse):
    x = R.randint(1, 5, (2, n)).astype("i4")
    np.testing.assert_array_equal(
        lax.associative_scan(lax.add, x, reverse=reverse, axis=-1), loop(np.add, x, reverse, 1)
    )


def test_order_and_pytrees():
    """Composition of affine maps does not commute."""
    a, b = R.randn(5).astype("f4"), R.randn(5).astype("f4")

    def compose(f, g):
        return {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}

    out = lax.associative_scan(compose, {"a": a, "b": b})
    value, wanted = 0.0, []
    for i in range(5):
        value = value * a[i] + b[i]
        wanted.append(value)
    np.testing.assert_allclose(out["b"], wanted, rtol=1e-5)
    np.testing.assert_allclose(out["a"], np.cumprod(a), rtol=1e-5)


def test_nothing_to_scan():
    assert lax.associative_scan(lax.add, np.zeros((0, 2), "f4")).shape == (0, 2)
    assert lax.associative_scan(lax.add, ()) == ()


def test_each_level_calls_the_function_twice():
    calls = []
    lax.associative_scan(lambda a, b: calls.append(1) or a + b, np.ones(1000, "f4"))
    assert len(calls) <= 2 * 10


@pytest.mark.parametrize(
    "call,message",
    [
        (
            lambda: lax.associative_scan(lax.add, (np.ones(3), np.ones(4))),
            r"3 in elems\[0\].*4 in elems\[1\]",
        ),
        (lambda: lax.associative_scan(lax.add, np.ones(3), axis=1), "has no axis 1"),
        (lambda: lax.associative_scan(lambda a, b: (a, b), np.ones(3)), "must return it"),
        (
            lambda: lax.associative_scan(lambda a, b: a > b, np.ones(3)),
            r"the output is bool\[1\] for f32\[1\]",
        ),
        (lambda: lax.associative_scan(3, np.ones(3)), "takes a function"),
        (lambda: lax.map(lambda x: x, np.ones(3), batch_size=-1), "must not be negative"),
        (lambda: lax.map(lambda x: x, (np.ones(3), np.ones(4)), batch_size=2), "map of .*3 by xs"),
    ],
)
@pytest.mark.needs("vmap")
def test_what_is_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.needs("vmap")
@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 9])
def test_map_by_batches(size):
    xs = {"a": R.randn(7, 3).astype("f4"), "b": np.arange(7)}
    seen = []

    def f(x):
        seen.append(x["a"].shape)
        return x["a"] * x["b"], lax.reduce_sum(x["a"], axes=(0,))

    got = lax.map(f, xs, batch_size=size)
    np.testing.assert_allclose(got[0], xs["a"] * xs["b"][:, None], rtol=1e-6)
    np.testing.assert_allclose(got[1], xs["a"].sum(1), rtol=1e-5)
    assert set(seen) == {(3,)}


def test_batches_need_vmap(monkeypatch):
    def resolve(name):
        raise rb.errors.MissingPluginError(f"rb.{name} is provided by the package rabbet-vmap")

    monkeypatch.setattr("rabbet.trace.provided.find", resolve)
    assert lax.map(lambda x: x * 2, np.arange(3)).tolist() == [0, 2, 4]
    with pytest.raises(rb.errors.MissingPluginError, match="rabbet-vmap"):
        lax.map(lambda x: x * 2, np.arange(3), batch_size=2)
