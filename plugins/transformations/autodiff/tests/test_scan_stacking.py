"""The backward pass of a scan: products computed once after the loop are those that it would add up."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

random = np.random.default_rng(0)


def arrays(*shapes):
    return [random.normal(size=shape).astype("float32") for shape in shapes]


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


def dot(a, b):
    return lax.dot_general(a, b, (((a.ndim - 1,), (0,)), ((), ())))


def recurrent(w, u, bias, xs):
    def step(h, x):
        g = dot(x, w) + dot(h, u) + lax.broadcast_in_dim(bias, (2, 3), (1,))
        return lax.tanh(g), lax.sin(g)

    h, ys = lax.scan(step, lax.full((2, 3), 0.1), xs)
    return total(h) + total(ys * ys)


def weight_on_the_left(w, xs):
    def step(h, x):
        h = lax.tanh(lax.dot_general(w, lax.add(h, x), (((1,), (0,)), ((), ()))))
        return h, None

    return total(lax.scan(step, lax.full((3, 2), 0.1), xs, reverse=True)[0])


def batches_of_products(w, xs):
    """Each of four heads has a weight of its own."""

    def step(h, x):
        out = lax.dot_general(lax.add(h, x), w, (((2,), (1,)), ((0,), (0,))))
        return lax.tanh(out), out

    h, ys = lax.scan(step, lax.full((4, 2, 3), 0.1), xs)
    return total(h) + total(ys)


def read_otherwise(w, xs):
    """The weight is used by something that is not a product too."""

    def step(h, x):
        return lax.tanh(dot(h, w) + x * total(lax.sin(w))), None

    return total(lax.scan(step, lax.full((2, 3), 0.1), xs)[0])


def midpoint(w, bias, xs):
    """A step reads the weight twice, once each way round."""

    def slope(h):
        return lax.tanh(dot(h, w) + lax.broadcast_in_dim(bias, (2, 3), (1,)))

    def step(h, x):
        return h + 0.5 * dot(slope(h + 0.25 * slope(h)), lax.transpose(w, (1, 0))) + x, None

    return total(lax.scan(step, lax.full((2, 3), 0.1), xs)[0])


def called(w, u, xs):
    """The product is in a function with a program of its own, and in one within it."""
    jit = getattr(rb, "jit", lambda f: f)
    inner = jit(lambda h, u: dot(h, u))
    cell = jit(lambda h, x, w, u: (lax.tanh(dot(x, w) + inner(h, u)), h))

    def step(h, x):
        return cell(h, x, w, u)

    h, ys = lax.scan(step, lax.full((2, 3), 0.1), xs)
    return total(h) + total(ys * ys)


CASES = {
    "recurrent": (recurrent, arrays((5, 3), (3, 3), (3,), (4, 2, 5))),
    "left": (weight_on_the_left, arrays((3, 3), (6, 3, 2))),
    "batches": (batches_of_products, arrays((4, 3, 3), (5, 4, 2, 3))),
    "otherwise": (read_otherwise, arrays((3, 3), (4, 2, 3))),
    "midpoint": (midpoint, arrays((3, 3), (3,), (4, 2, 3))),
    "called": (called, arrays((5, 3), (3, 3), (4, 2, 5))),
    "one step": (recurrent, arrays((5, 3), (3, 3), (3,), (1, 2, 5))),
    "no step": (recurrent, arrays((5, 3), (3, 3), (3,), (0, 2, 5))),
}


def carried(f, arguments):
    """How many values the backward scan carries."""
    pytest.importorskip("rabbet_jit", reason="rb.make_jaxpr is in the package rabbet-jit")
    program = rb.make_jaxpr(rb.grad(f, tuple(range(len(arguments)))))(*arguments)
    scans = [eqn for eqn in program.jaxpr.eqns if eqn.primitive.name == "scan"]
    return scans[-1].params["carry"]


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_the_same(name):
    f, arguments = CASES[name]
    gradient = rb.grad(f, tuple(range(len(arguments))))
    found = gradient(*arguments)
    with rb.config.override(scan_stacking=0):
        wanted = gradient(*arguments)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_the_loop_carries_no_gradients_of_weights():
    f, arguments = CASES["recurrent"]
    assert carried(f, arguments) == 1
    with rb.config.override(scan_stacking=0):
        assert carried(f, arguments) == 4
    for name in ("left", "batches", "midpoint", "called"):
        assert carried(*CASES[name]) == 1, name
    assert carried(*CASES["otherwise"]) == 2


def test_memory_is_bounded():
    f, arguments = CASES["recurrent"]
    stacked = 4 * 2 * 3 * 4  # bytes of the cotangents of the products, over all steps
    with rb.config.override(scan_stacking=stacked - 1):
        assert carried(f, arguments) == 4
    with rb.config.override(scan_stacking=stacked):
        assert carried(f, arguments) == 1


def test_second_derivatives_batches_and_checkpoint():
    pytest.importorskip("rabbet_vmap", reason="the package rabbet-vmap is not installed")
    f, (w, u, bias, xs) = CASES["recurrent"]
    kept = rb.checkpoint(f)

    def slope(g):
        return lambda u: total(lax.sin(rb.grad(g, 1)(w, u, bias, xs)))

    def all_of_them():
        # Functions of their own each time: nothing of an earlier trace is used.
        return [
            rb.grad(slope(lambda *a: f(*a)))(u),
            rb.grad(slope(lambda *a: kept(*a)))(u),
            rb.vmap(lambda bias: rb.grad(lambda *a: f(*a), 1)(w, u, bias, xs))(np.stack([bias, 2 * bias])),
            rb.vmap(lambda u: rb.grad(lambda *a: f(*a), 0)(w, u, bias, xs))(np.stack([u, 2 * u])),
        ]

    found = all_of_them()
    with rb.config.override(scan_stacking=0):
        wanted = all_of_them()
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
