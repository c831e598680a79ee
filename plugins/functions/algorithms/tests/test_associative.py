"""associative_scan, and map by batches: loops in NumPy as oracle."""

import numpy as np
import pytest
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
    ],
)
@pytest.mark.narrow
def test_what_is_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_tuple_where_elements_come_as_a_list():
    x = np.float32([1, 2, 3])
    sums, products = lax.associative_scan(lambda a, b: (a[0] + b[0], a[1] * b[1]), [x, x])
    assert sums.tolist() == [1, 3, 6] and products.tolist() == [1, 2, 6]
