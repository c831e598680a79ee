"""Loops with a stated number of kept states: the derivatives of the plain ones, and memory for so many."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

rnp = pytest.importorskip("rabbet.numpy")

pytestmark = pytest.mark.needs("numpy", "jit", "vmap")


def loop(x, w, n, **how):
    step = lambda v: (rnp.sin(v[0] * w) + v[1] * 0.01, v[1] + 1)
    return lax.while_loop(lambda v: v[1] < n, step, (x, 0), **how)[0]


@pytest.mark.parametrize("places", [1, 2, 3, 4, 7, 40])
def test_the_derivatives_are_those_of_the_bounded_loop(places):
    x = np.float32([0.3, 0.4])
    of = lambda **how: rb.jit(rb.value_and_grad(lambda x, w, n: rnp.sum(loop(x, w, n, **how)), (0, 1)))
    plain, found = of(max_steps=64), of(checkpoints=places)
    for n in (0, 1, 2, 5, 37):
        for a, b in zip(rb.tree.leaves(plain(x, 1.1, n)), rb.tree.leaves(found(x, 1.1, n)), strict=True):
            np.testing.assert_allclose(a, b, rtol=3e-6)


def test_other_modes_and_batches():
    f = lambda x: loop(x, 1.3, 9, checkpoints=3)
    bounded = lambda x: loop(x, 1.3, 9, max_steps=9)
    np.testing.assert_allclose(rb.jvp(f, (0.3,), (1.0,))[1], rb.grad(f)(0.3), rtol=1e-6)
    np.testing.assert_allclose(rb.jacfwd(rb.grad(f))(0.3), rb.grad(rb.grad(bounded))(0.3), rtol=1e-5)
    of_both = rb.grad(lambda x, n: loop(x, 1.3, n, checkpoints=3))
    by_x = rb.vmap(of_both)(np.float32([0.3, 0.5]), np.int32([9, 2]))
    alone = [of_both(x, n) for x, n in ((0.3, 9), (0.5, 2))]
    np.testing.assert_allclose(by_x, alone, rtol=1e-6)


def test_both_bounds():
    loop = lax.while_loop
    assert int(loop(lambda i: i < 50, lambda i: i + 1, 0, max_steps=17, checkpoints=3)) == 17
    by_x = rb.grad(lambda x: loop(lambda v: v > 0, lambda v: v * x, x, max_steps=17, checkpoints=4))
    assert float(by_x(1.0)) == 18.0  # x ** 18


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("how", [{"checkpoint_every": 7}, {"checkpoints": 60}, {"checkpoints": 12}])
def test_a_scan_with_a_schedule_is_a_scan(how, reverse):
    def value(w, **how):
        xs = np.linspace(0, 1, 50).astype("float32")
        f = lambda c, x: (rnp.sin(c * w) + x, c * x)
        carry, ys = lax.scan(f, 0.3, xs, reverse=reverse, **how)
        return carry + rnp.sum(ys)

    plain, found = [rb.jit(rb.value_and_grad(lambda w, h=h: value(w, **h)))(1.3) for h in ({}, how)]
    np.testing.assert_allclose(plain, found, rtol=1e-6)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"checkpoints": 5}, "5 checkpoints are too few for 50 steps; it takes 12"),
        ({"checkpoints": 0}, "checkpoints must be at least 1"),
        ({"checkpoints": 9, "checkpoint_every": 2}, "every or checkpoints, not both"),
        ({"checkpoints": 20, "unroll": 3}, "unroll does not go with checkpoints"),
        ({"checkpoints": 1.5}, "checkpoints must be a static int"),
    ],
)
def test_what_a_scan_refuses(how, message):
    with pytest.raises((ValueError, TypeError), match=message):
        lax.scan(lambda c, _: (c, None), 0.0, None, 50, **how)


def test_a_loop_needs_one_of_both():
    with pytest.raises(TypeError, match="needs max_steps or checkpoints"):
        lax.bounded_while_loop(lambda v: v < 1, lambda v: v + 1, 0)


@pytest.mark.optimized
def test_so_many_states_are_kept():
    def temporary(places):
        step = lambda v: (rnp.sin(v[0]), v[1] + 1)
        loop = lambda x, n: lax.bounded_while_loop(lambda v: v[1] < n, step, (x, 0), checkpoints=places)
        f = lambda x, n: rnp.sum(loop(x, n)[0])
        compiled = rb.jit(rb.grad(f)).lower(np.zeros(1000, "float32"), 1).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    few, more = temporary(4), temporary(16)
    assert 12 * 4000 <= more - few < 13 * 4000
