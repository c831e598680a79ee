"""Collectives under every transformation: compiled or not, differentiated inside or outside of the map, in
loops and branches.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import check

pytestmark = [pytest.mark.optimized, pytest.mark.needs("jit", "grad", "vmap")]

R = np.random.RandomState(3)
X = R.randn(4, 4, 2)
EVEN = [[0, 3], [2, 1]]


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


CALLS = {
    "psum": lambda x: lax.psum(x, "i"),
    "psum in groups": lambda x: lax.psum(x, "i", axis_index_groups=[[3, 0, 1], [2]]),
    "pmean": lambda x: x / lax.pmean(x, "i"),
    "pmax": lambda x: x * lax.pmax(x, "i"),
    "pmin": lambda x: lax.pmin(x * x, "i", axis_index_groups=EVEN),
    "all_gather": lambda x: lax.all_gather(x, "i", axis=1),
    "all_gather in groups": lambda x: lax.all_gather(x, "i", axis_index_groups=EVEN, tiled=True),
    "psum_scatter": lambda x: lax.psum_scatter(x * x, "i"),
    "psum_scatter in groups": lambda x: lax.psum_scatter(x * x, "i", axis_index_groups=EVEN, tiled=True),
    "all_to_all": lambda x: lax.all_to_all(x, "i", 0, 1) * 2,
    "all_to_all in groups": lambda x: lax.all_to_all(x, "i", 1, 0, axis_index_groups=EVEN),
    "ppermute": lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (3, 3)]),
    "pbroadcast": lambda x: lax.pbroadcast(x, "i", 2),
    "axis_index": lambda x: x * lax.axis_index("i"),
    "softmax": lambda x: lax.exp(x - lax.pmax(x, "i")) / lax.psum(lax.exp(x - lax.pmax(x, "i")), "i"),
    "in a loop": lambda x: lax.fori_loop(0, 3, lambda i, v: lax.sin(v + lax.pmean(v, "i")), x),
    "in a scan": lambda x: lax.scan(lambda c, r: (c + lax.psum(r * c, "i"), c), x[0], x)[1],
    "in a branch": lambda x: lax.cond(
        lax.psum(1, "i") > 3, lambda v: v * lax.psum(v, "i"), lambda v: lax.pmin(v, "i"), x
    ),
    "in a call": lambda x: rb.jit(lambda v: lax.psum(v * v, "i"))(x) * x,
}
each = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def mapped(f, **options):
    return rb.vmap(f, axis_name="i", **options)


@each
def test_compiled_around_and_inside(call):
    x = X.astype("f4")
    wanted = np.asarray(mapped(call)(x))
    for f in (rb.jit(mapped(call)), mapped(rb.jit(call)), rb.jit(mapped(rb.jit(call)))):
        np.testing.assert_allclose(f(x), wanted, rtol=2e-5, atol=1e-6)
    check(rb.make_jaxpr(mapped(rb.jit(call)))(x))


@each
def test_derivatives(call):
    """Inside of the map a cotangent goes to all members that the value came from: the gradient of the sum of
    all members' results, which is also the gradient outside, and what finite differences say.
    """
    x = rb.lax.convert_element_type(X, "float64")
    weights = rb.lax.convert_element_type(R.randn(*mapped(call)(x).shape), "float64")
    direction = R.randn(*X.shape)

    def loss(v):
        return total(mapped(call)(v) * weights)

    gradient = np.asarray(rb.grad(loss)(x))
    h = 1e-6
    x64 = np.asarray(x)
    at = lambda s: float(loss(rb.lax.convert_element_type(x64 + s * direction, "float64")))
    np.testing.assert_allclose((gradient * direction).sum(), (at(h) - at(-h)) / (2 * h), rtol=1e-5, atol=1e-6)
    inside = mapped(lambda v, w: rb.grad(lambda u: total(call(u) * w))(v))
    np.testing.assert_allclose(inside(x, weights), gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rb.jit(inside)(x, weights), gradient, rtol=1e-9, atol=1e-9)
    tangent = rb.jvp(loss, (x,), (rb.lax.convert_element_type(direction, "float64"),))[1]
    np.testing.assert_allclose(tangent, (gradient * direction).sum(), rtol=1e-9)


@pytest.mark.parametrize("name", ["softmax", "in a scan", "all_to_all in groups", "psum_scatter in groups"])
def test_second_order(name):
    call = CALLS[name]
    x = X.astype("f4")

    def loss(v):
        return total(lax.sin(mapped(call)(v)))

    def loss_inside(v):
        grads = mapped(rb.grad(lambda u: total(lax.sin(call(u)))))(v)
        return total(grads * grads)

    g = rb.grad(loss)
    np.testing.assert_allclose(
        rb.grad(loss_inside)(x), rb.grad(lambda v: total(g(v) * g(v)))(x), rtol=1e-3, atol=1e-4
    )


def test_a_map_in_a_compiled_map():
    x = X.astype("f4")
    f = rb.jit(rb.vmap(rb.jit(rb.vmap(lambda v: v - lax.pmax(v, ("i", "j")), axis_name="j")), axis_name="i"))
    np.testing.assert_allclose(f(x[..., 0]), x[..., 0] - x[..., 0].max(), rtol=1e-6)


def test_a_traced_function_knows_the_sizes_around_it():
    traced = []

    @rb.jit
    def f(x):
        traced.append(lax.axis_size("i"))
        return x * lax.axis_size("i")

    assert mapped(f)(np.ones(3)).tolist() == [3.0] * 3
    assert mapped(f)(np.ones(5)).tolist() == [5.0] * 5
    assert mapped(f)(np.ones(3)).tolist() == [3.0] * 3
    assert traced == [3, 5]
    with pytest.raises(NameError, match="no axis has a name here"):
        f(1.0)


def test_custom_rules_may_communicate():
    @rb.custom_vjp
    def mean(x):
        return lax.pmean(x, "i")

    mean.defvjp(lambda x: (mean(x), None), lambda _, ct: (lax.psum(ct, "i") * 10.0,))
    assert mapped(rb.grad(lambda x: mean(x)))(np.arange(4.0)).tolist() == [40.0] * 4
    assert rb.jit(mapped(rb.grad(lambda x: mean(x))))(np.arange(4.0)).tolist() == [40.0] * 4
    assert np.asarray(rb.grad(lambda x: total(mapped(mean)(x)))(np.arange(4.0))).tolist() == [40.0] * 4

    @rb.custom_jvp
    def size(x):
        return x * 0 + lax.psum(1.0, "i") * lax.axis_index("i")

    size.defjvp(lambda primals, tangents: (size(*primals), tangents[0] * 3.0))
    one = rb.device_put(np.float32(1))
    assert mapped(lambda x: size(one))(np.arange(3)).tolist() == [0.0, 3.0, 6.0]
    assert mapped(lambda x: rb.jit(size)(one))(np.arange(3)).tolist() == [0.0, 3.0, 6.0]


def test_loops_decided_together():
    """A condition that all members share keeps the loop's trip count one for all."""

    def f(x):
        return lax.while_loop(lambda v: lax.pmax(v, "i") < 10, lambda v: v * 2, x)

    assert mapped(f)(np.array([1, 2, 3], "i4")).tolist() == [4, 8, 12]
    assert rb.jit(mapped(f))(np.array([1, 2, 3], "i4")).tolist() == [4, 8, 12]


def test_without_compiling():
    with rb.disable_jit():
        out = mapped(lambda x: lax.scan(lambda c, _: (c + lax.psum(c, "i"), c), x, None, length=2)[0])(
            X[:, 0, 0]
        )
    x = X[:, 0, 0].astype("f4")
    once = x + x.sum()
    np.testing.assert_allclose(out, once + once.sum(), rtol=1e-5)
