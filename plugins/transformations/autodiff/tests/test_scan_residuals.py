"""What the forward pass of a scan stacks for the backward pass: not what a few cheap operations make of the
rest.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = pytest.mark.needs("jit")

W = np.random.default_rng(0).normal(size=(3, 3)).astype("float32")
XS = np.random.default_rng(1).normal(size=(5, 3)).astype("float32")


def dot(a, b):
    return lax.dot_general(a, b, (((a.ndim - 1,), (0,)), ((), ())))


def squashed(c, x):
    """tanh' is 1 - y * y, of y."""
    return lax.tanh(dot(c, W) + x), None


def gated(c, x):
    """Of each gate y and y * (1 - y); and their product with the state."""
    z = dot(c, W) + x
    gate, new = lax.logistic(z), lax.tanh(z * 2.0)
    return gate * c + (1.0 - gate) * new, None


def squared(c, x):
    y = dot(c, W) * x
    return y * y * 0.1, None


def turned(c, x):
    """What is made of a constant alone, in a function too, is not stacked."""
    root = rb.jit(lambda w: lax.sqrt(lax.abs(w) + 1.0))
    return lax.tanh(dot(c, lax.transpose(W, (1, 0)) * root(W)) + x), None


def divided(c, x):
    """Nor is a number that is the same at every step."""
    return rb.grad(lambda c: lax.reduce_sum(lax.div(lax.integer_pow(c, 4), 4.0), axes=(0,)))(c) * x, None


# At most how many values of a step are stacked; for the gates all that are read would be 6.
CASES = {
    "tanh": (squashed, 2), "gates": (gated, 3), "square": (squared, 3), "turned": (turned, 1),
    "divided": (divided, 2),
}  # fmt: skip


def whole(step):
    def loss(c, xs):
        return lax.reduce_sum(lax.scan(step, c, xs)[0], axes=(0,))

    return loss


@pytest.mark.parametrize("case", CASES)
def test_what_is_stacked(case):
    step, most = CASES[case]
    program = rb.make_jaxpr(rb.grad(whole(step)))(W[0], XS)
    first, *_ = [e for e in program.eqns if e.primitive.name == "scan"]
    stacked = [v for v in first.outvars if v.aval.shape[:1] == (5,)]
    assert len(stacked) <= most, program


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_the_steps_one_by_one(case):
    step, _ = CASES[case]

    def unrolled(c, xs):
        for x in xs:
            c, _ = step(c, x)
        return lax.reduce_sum(c, axes=(0,))

    for argnums in (0, 1):
        wanted = rb.grad(unrolled, argnums)(W[0], XS)
        slope = rb.grad(whole(step), argnums)
        for way in (slope, rb.jit(slope), rb.grad(rb.checkpoint(whole(step)), argnums)):
            np.testing.assert_allclose(way(W[0], XS), wanted, rtol=1e-5, atol=1e-6)
    second = rb.jit(rb.jacfwd(rb.grad(whole(step))))(W[0], XS)
    np.testing.assert_allclose(second, rb.jacfwd(rb.grad(unrolled))(W[0], XS), rtol=1e-4, atol=1e-5)


def test_what_is_repeated_in_turn_is_repeated_in_its_order():
    """Both a repeated value and one that is made of it are read by the backward pass of a call."""

    def twice(x):
        rows = lax.broadcast_in_dim(lax.sin(x), (3, 3), (1,))
        more = lax.broadcast_in_dim(rows, (2, 3, 3), (1, 2))
        z = lax.broadcast_in_dim(x, (3, 3), (0,))
        return lax.reduce_sum(z * rows, axes=(0, 1)) + lax.reduce_sum(
            lax.broadcast_in_dim(z, (2, 3, 3), (1, 2)) * more, axes=(0, 1, 2)
        )

    x = XS[0]
    np.testing.assert_allclose(
        rb.grad(rb.jit(twice))(x), 3 * (np.sin(x).sum() + np.cos(x) * x.sum()), rtol=1e-5
    )


@pytest.mark.parametrize(
    "step",
    [
        lambda v, c, x: (c / (v * v + 1), x * 0),  # made again because it is the same at every step
        lambda v, c, x: (c * (x / (v * v + 1)), c * (v * v)),  # and because it is cheap, too
        lambda v, c, x: (c * lax.broadcast_in_dim(lax.reduce_sum(v * v, axes=(0,)), (3,), ()), v * v * c),
        lambda v, c, x: (c * lax.sin(v * v - x) * (v * v), c * x + v * v * c),
    ],
)
def test_what_is_computed_again_for_two_reasons_is_computed_once(step):
    def slope(v):
        return rb.linearize(lambda c: lax.scan(lambda c, x: step(v, c, x), c, XS)[0], v)[1](v)

    wanted = rb.jvp(lambda c: lax.scan(lambda c, x: step(XS[0], c, x), c, XS)[0], (XS[0],), (XS[0],))[1]
    with rb.enable_checks(True):
        for way in (slope, rb.jit(slope)):
            np.testing.assert_allclose(way(XS[0]), wanted, rtol=1e-5)
        (scan,) = [e for e in rb.make_jaxpr(slope)(XS[0]).eqns if e.primitive.name == "scan"][1:]
    inner = scan.params["jaxpr"]
    defined = [*inner.invars, *[v for eqn in inner.eqns for v in eqn.outvars]]
    assert len(set(defined)) == len(defined)
