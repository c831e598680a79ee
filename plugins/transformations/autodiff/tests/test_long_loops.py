"""Loops that keep few states for reverse mode: values and derivatives of plain ones, and less memory."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ReverseModeError

rnp = pytest.importorskip("rabbet.numpy")

pytestmark = pytest.mark.needs("numpy", "jit", "vmap")


def step(carry, x):
    new = {"a": rnp.sin(carry["a"]) + x, "n": carry["n"] + 1}
    return new, carry["a"] * x


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("n", "every"), [(1, None), (7, None), (12, 5), (12, 4), (9, 100), (0, None)])
def test_a_checkpointed_scan_is_a_scan(n, every, reverse):
    xs = np.linspace(0.1, 1, n).astype("float32")
    init = {"a": np.float32(0.3), "n": np.int32(0)}

    def of(scan):
        def value(a, xs):
            carry, ys = scan({**init, "a": a}, xs)
            return carry["a"] + rnp.sum(ys * rnp.arange(n)), (carry, ys)

        return rb.jit(rb.value_and_grad(value, (0, 1), has_aux=True))(init["a"], xs)

    plain = of(lambda init, xs: lax.scan(step, init, xs, reverse=reverse))
    found = of(lambda init, xs: lax.checkpointed_scan(step, init, xs, reverse=reverse, every=every))
    for a, b in zip(rb.tree.leaves(plain), rb.tree.leaves(found), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def doubled(x, w):
    return lax.bounded_while_loop(lambda v: v[0] < 100, lambda v: (v[0] * w, v[1] + 1), (x, 0), max_steps=300)


@pytest.mark.parametrize("jit", [False, True])
def test_reverse_mode_through_a_loop_of_unknown_length(jit):
    f = lambda x, w: doubled(x, w)[0]
    g = rb.value_and_grad(f, (0, 1))
    value, (by_x, by_w) = (rb.jit(g) if jit else g)(3.0, 2.0)
    assert (float(value), float(by_x), float(by_w)) == (192.0, 64.0, 6 * 96.0)
    assert int(doubled(3.0, 2.0)[1]) == 6


def test_second_derivatives_and_forward_mode():
    f = lambda x: doubled(1.0, x)[0]  # x ** 7
    np.testing.assert_allclose(rb.grad(rb.grad(f))(2.0), 42 * 2.0**5)
    np.testing.assert_allclose(rb.jvp(f, (2.0,), (1.0,))[1], 7 * 2.0**6)
    np.testing.assert_allclose(rb.jacfwd(rb.grad(f))(2.0), 42 * 2.0**5)


def test_examples_that_end_apart():
    xs = np.float32([3.0, 50.0, 200.0])
    out = rb.vmap(rb.grad(lambda x: doubled(x, 2.0)[0]))(xs)
    assert np.asarray(out).tolist() == [64.0, 2.0, 1.0]


def test_the_bound_ends_the_loop():
    count = lambda n: lax.bounded_while_loop(lambda i: i < 50, lambda i: i + 1, 0, max_steps=n)
    assert [int(count(n)) for n in (1, 16, 17, 49, 50, 51)] == [1, 16, 17, 49, 50, 50]
    by_x = rb.grad(lambda x: lax.bounded_while_loop(lambda v: v > 0, lambda v: v * x, x, max_steps=17))(1.0)
    assert float(by_x) == 18.0  # x ** 18


@pytest.mark.parametrize("bound", [0, -3])
def test_bounds_that_are_none(bound):
    with pytest.raises(ValueError, match="max_steps must be at least 1"):
        lax.bounded_while_loop(lambda v: v < 1, lambda v: v + 1, 0, max_steps=bound)
    with pytest.raises(ValueError, match="every must be at least 1"):
        lax.checkpointed_scan(step, None, None, 4, every=bound)


def test_the_error_names_the_way_out():
    ways = r"lax.while_loop\(..., max_steps=n\), or .*\n?.*checkpoints=k"
    with pytest.raises(ReverseModeError, match=ways):
        rb.grad(lambda x: lax.while_loop(lambda v: v < 100, lambda v: v * v, x))(3.0)


@pytest.mark.optimized
def test_less_is_kept():
    def temporary(scan):
        f = lambda x: rnp.sum(scan(lambda c, _: (rnp.sin(c), None), x, None, 400)[0])
        compiled = rb.jit(rb.grad(f)).lower(np.zeros(1000, "float32")).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    few = temporary(lambda *args: lax.checkpointed_scan(*args, every=20))
    assert few * 5 < temporary(lax.scan)
