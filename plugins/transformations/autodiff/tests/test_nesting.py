"""Derivatives of derivatives, in any order of transformations; each level keeps to its own tangents."""

import itertools

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import evaluate, stage
from rabbet.extend.primitive import Dual, Primitive

POINT = 0.7


def f(x):
    return lax.sin(x) * x + lax.exp(x * 0.5)


# The derivatives of f by hand.
DERIVATIVES = [
    lambda x: np.sin(x) * x + np.exp(x / 2),
    lambda x: np.cos(x) * x + np.sin(x) + np.exp(x / 2) / 2,
    lambda x: -np.sin(x) * x + 2 * np.cos(x) + np.exp(x / 2) / 4,
    lambda x: -np.cos(x) * x - 3 * np.sin(x) + np.exp(x / 2) / 8,
]


def forward(g):
    return lambda x: rb.jvp(g, (x,), (lax.mul(x, 0.0) + 1,))[1]


def forward_of_a_number(g):
    return lambda x: rb.jvp(g, (x,), (np.float32(1),))[1]


def pulled(g):
    return lambda x: rb.vjp(g, x)[1](np.float32(1))[0]


def linearized(g):
    return lambda x: rb.linearize(g, x)[1](np.float32(1))


def mapped(g):
    """The derivative of a map over two equal examples, the first of which is returned."""
    return lambda x: lax.reduce_max(rb.vmap(rb.grad(g))(lax.broadcast(x, (2,))), axes=(0,))


def through_a_map(g):
    """The derivative of a mean over a map."""
    return rb.grad(lambda x: lax.reduce_sum(rb.vmap(g)(lax.broadcast(x, (2,))), axes=(0,)) / 2)


def jitted_grad(g):
    return rb.jit(rb.grad(rb.jit(g)))


def jitted_jvp(g):
    return rb.jit(forward_of_a_number(rb.jit(g)))


def jitted_map(g):
    return rb.jit(lambda x: rb.vmap(rb.jit(rb.grad(rb.jit(g))))(lax.broadcast(x, (2,)))[1])


PLAIN = [rb.grad, forward_of_a_number, pulled, linearized, mapped, through_a_map, forward]
JITTED = [jitted_grad, jitted_jvp, jitted_map, rb.grad, forward_of_a_number, through_a_map]
name = lambda d: d.__name__


@pytest.mark.parametrize("d", PLAIN, ids=name)
def test_first_order(d):
    np.testing.assert_allclose(d(f)(POINT), DERIVATIVES[1](POINT), rtol=1e-5)


@pytest.mark.parametrize(("d", "e"), list(itertools.product(PLAIN, repeat=2)), ids=name)
def test_second_order(d, e):
    np.testing.assert_allclose(d(e(f))(POINT), DERIVATIVES[2](POINT), rtol=1e-5)


@pytest.mark.parametrize(("d", "e", "g"), list(itertools.product(PLAIN[:4], repeat=3)), ids=name)
def test_third_order(d, e, g):
    np.testing.assert_allclose(d(e(g(f)))(POINT), DERIVATIVES[3](POINT), rtol=1e-5)


@pytest.mark.parametrize(
    "order",
    [(mapped, rb.grad, mapped), (through_a_map, linearized, mapped), (mapped, through_a_map, forward)],
)
def test_third_order_with_maps(order):
    d, e, g = order
    np.testing.assert_allclose(d(e(g(f)))(POINT), DERIVATIVES[3](POINT), rtol=1e-5)


@pytest.mark.needs("jit")
@pytest.mark.parametrize(("d", "e"), list(itertools.product(JITTED, repeat=2)), ids=name)
def test_second_order_through_jit(d, e):
    np.testing.assert_allclose(d(e(rb.jit(f)))(POINT), DERIVATIVES[2](POINT), rtol=1e-5)


@pytest.mark.needs("jit")
@pytest.mark.parametrize("d", JITTED[:3], ids=name)
@pytest.mark.parametrize("e", JITTED[:3], ids=name)
def test_third_order_through_jit(d, e):
    np.testing.assert_allclose(d(e(jitted_grad(f)))(POINT), DERIVATIVES[3](POINT), rtol=1e-5)


@pytest.mark.forbidden("enable_x64")
@pytest.mark.needs("jit")
def test_programs_of_all_orders_are_well_typed():
    from rabbet.extend.passes import check

    for d, e in itertools.product(PLAIN + JITTED[:3], repeat=2):
        check(rb.make_jaxpr(d(f))(POINT))
        check(rb.make_jaxpr(d(e(f)))(np.float32(POINT)))


@pytest.mark.needs("jit")
def test_programs_without_derivatives_have_no_zeros():
    """What no tangent reaches is computed once and has no equation of zeros beside it."""
    closed = rb.make_jaxpr(rb.grad(lambda x, n: x * lax.sin(lax.cos(n))))(1.0, 2.0)
    assert [e.primitive.name for e in closed.eqns if e.primitive.name in ("sin", "cos")] == ["cos", "sin"]
    assert len(closed.eqns) <= 5


# --------------------------------------------------------------------------------- perturbation confusion
def test_inner_and_outer_tangents_are_different():
    assert rb.grad(lambda x: x * rb.grad(lambda y: x + y)(1.0))(1.0) == 1
    assert rb.grad(lambda x: x * rb.grad(lambda y: x * y)(2.0))(3.0) == 6
    assert rb.jvp(lambda x: x * rb.jvp(lambda y: x + y, (1.0,), (1.0,))[1], (1.0,), (1.0,))[1] == 1
    assert rb.grad(lambda x: x * rb.jvp(lambda y: x + y, (1.0,), (1.0,))[1])(1.0) == 1
    assert rb.jvp(lambda x: x * rb.grad(lambda y: x + y)(1.0), (1.0,), (1.0,))[1] == 1


def test_inner_and_outer_values_of_one_function():
    square = lambda x: x * x
    assert rb.grad(lambda x: square(x) * rb.grad(square)(x))(2.0) == 24  # 2 x^3
    outer = lambda x: rb.grad(lambda y: rb.grad(lambda z: x * y * z)(1.0))(1.0)
    assert rb.grad(outer)(5.0) == 1


def test_a_value_of_an_outer_level_inside_a_jitted_function():
    inner = rb.jit if "jit" in dir(rb) else (lambda g: g)
    assert rb.grad(lambda x: inner(lambda y: x * y * y)(3.0))(2.0) == 9
    assert rb.grad(lambda x: rb.grad(inner(lambda y: x * y * y))(3.0))(2.0) == 6
    assert rb.grad(lambda x: rb.grad(inner(lambda y: x * x * y * y))(3.0))(2.0) == 24


def test_closures_of_all_levels_at_once():
    def outer(x):
        def middle(y):
            def inner(z):
                return x**2 * y**3 * z**2

            return rb.grad(inner)(x) * rb.jvp(inner, (y,), (1.0,))[1]

        return rb.grad(middle)(x)

    # inner'(z) = 2 x^2 y^3 z; the product is 4 x^5 y^7; its derivative at y = x is 28 x^11.
    np.testing.assert_allclose(outer(1.1), 28 * 1.1**11, rtol=1e-5)
    np.testing.assert_allclose(rb.vmap(outer)(np.array([1.1, 0.5]))[0], 28 * 1.1**11, rtol=1e-5)


# --------------------------------------------------------------------------------------------- with jit
@pytest.mark.needs("jit")
def test_grad_of_a_jitted_closure_over_an_array_being_differentiated():
    def g(w):
        step = rb.jit(lambda x: x * w)
        return step(2.0) + step(3.0)

    assert rb.grad(g)(1.0) == 5
    assert rb.jit(rb.grad(g))(1.0) == 5


@pytest.mark.needs("jit")
def test_a_jitted_function_is_traced_once_for_grad():
    traced = []

    @rb.jit
    def g(x):
        traced.append(1)
        return x * x

    for x in (1.0, 2.0, 3.0):
        assert rb.grad(g)(x) == 2 * x
    assert len(traced) == 1


@pytest.mark.needs("jit")
def test_known_and_linear_outputs_of_a_call():
    g = rb.jit(lambda x, n: (x * n, n * 2, lax.sin(n), x + 1))
    total = lambda x, n: (lambda a, b, c, d: a * b + c * d)(*g(x, n))
    np.testing.assert_allclose(
        rb.grad(total, (0, 1))(2.0, 3.0), (18 + np.sin(3), 24 + 3 * np.cos(3)), rtol=1e-6
    )
    np.testing.assert_allclose(rb.grad(total)(2.0, 3.0), 18 + np.sin(3), rtol=1e-6)


@pytest.mark.needs("jit")
def test_calls_within_calls():
    a = rb.jit(lambda x, y: (lax.sin(x) * y, y))
    b = rb.jit(lambda x, y: a(x, y)[0] * a(y, x)[0] + a(x, y)[1])
    c = rb.jit(lambda x, y: b(x, b(y, x)))
    plain = lambda x, y: (lambda h: h(x, h(y, x)))(lambda p, q: lax.sin(p) * q * lax.sin(q) * p + q)
    for n in (0, 1):
        np.testing.assert_allclose(rb.grad(c, n)(0.5, 0.8), rb.grad(plain, n)(0.5, 0.8), rtol=1e-5)
        np.testing.assert_allclose(
            rb.grad(rb.grad(c, n))(0.5, 0.8), rb.grad(rb.grad(plain, n))(0.5, 0.8), rtol=1e-5
        )
        mixed = rb.grad(rb.grad(plain, n), 1 - n)(0.5, 0.8)
        np.testing.assert_allclose(rb.jit(rb.grad(rb.grad(c, n), 1 - n))(0.5, 0.8), mixed, rtol=1e-5)


@pytest.mark.needs("jit")
def test_integer_and_boolean_values_inside_a_call():
    @rb.jit
    def g(x, n):
        m = n + 1
        return lax.select(x > 0, x, -x) * m, m

    value, gradient = rb.value_and_grad(lambda x, n: g(x, n)[0])(-2.0, 3)
    assert value == 8 and gradient == -4
    _out, pull = rb.vjp(g, -2.0, 3)
    assert pull((1.0, np.zeros((), rb.dtypes.float0)))[0] == -4


# -------------------------------------------------------------------------------------------- with vmap
def test_per_example_gradients():
    w = np.arange(3, dtype="f4")
    xs = np.random.RandomState(0).randn(5, 3).astype("f4")
    loss = lambda w, x: lax.reduce_sum(lax.tanh(w * x), axes=(0,))
    each = rb.vmap(rb.grad(loss), (None, 0))(w, xs)
    np.testing.assert_allclose(each, xs / np.cosh(w * xs) ** 2, rtol=1e-4)
    total = rb.grad(lambda w: lax.reduce_sum(rb.vmap(loss, (None, 0))(w, xs), axes=(0,)))(w)
    np.testing.assert_allclose(total, np.asarray(each).sum(0), rtol=1e-5)


def test_a_map_over_directions():
    x = np.arange(3, dtype="f4")
    pushed = rb.vmap(lambda t: rb.jvp(lambda x: x * x, (x,), (t,))[1])(np.eye(3, dtype="f4"))
    np.testing.assert_array_equal(pushed, np.diag(2 * x))
    _, pull = rb.vjp(lambda x: x * x, x)
    np.testing.assert_array_equal(rb.vmap(pull)(np.eye(3, dtype="f4"))[0], np.diag(2 * x))
    _, push = rb.linearize(lambda x: x * x, x)
    np.testing.assert_array_equal(rb.vmap(push)(np.eye(3, dtype="f4")), np.diag(2 * x))


def carrier(name, parts):
    """A primitive that runs the program in its parameter, with several results and a jvp rule of its own."""
    p = Primitive(
        name, lambda *xs, jaxpr: tuple(jaxpr.out_avals), kinds=("body",), multiple_results=True, doc="runs it"
    )
    p.decompose(parts)

    @p.rule("jvp")
    def moved(op, x):
        push = lambda x, t: list(rb.jvp(lambda x: evaluate(op["jaxpr"], [x])[0], (x,), (t,)))
        return [Dual(*p(x.primal, x.tangent, jaxpr=stage(push, [rb.typeof(x.primal)] * 2).jaxpr))]

    return p


@pytest.mark.needs("jit")
def test_a_strangers_primitive_with_a_program_goes_backwards_by_its_parts():
    p = carrier("carrier_of_test_nesting", lambda op, *xs: evaluate(op["jaxpr"], xs))
    body = stage(lambda x: [lax.sin(x)], [rb.typeof(np.float32(1))]).jaxpr
    f = lambda x: p(x, jaxpr=body)[0]
    x = np.float32(0.5)
    for transformed in (f, rb.jit(f), lambda x: rb.lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]):
        np.testing.assert_allclose(rb.grad(transformed)(x), np.cos(0.5), rtol=1e-6)
        np.testing.assert_allclose(rb.grad(rb.grad(transformed))(x), -np.sin(0.5), rtol=1e-6)


@pytest.mark.needs("jit")
def test_parts_that_capture_arrays_are_refused_with_what_to_do():
    held = rb.device_put(np.float32([2.0]))
    p = carrier("holder_of_test_nesting", lambda op, *xs: [x * held[0] for x in evaluate(op["jaxpr"], xs)])
    body = stage(lambda x: [lax.sin(x)], [rb.typeof(np.float32(1))]).jaxpr
    with pytest.raises(TypeError, match=r"decomposition of primitive 'holder_of_test_nesting' \(.*captures"):
        rb.grad(rb.jit(lambda x: p(x, jaxpr=body)[0]))(np.float32(1))
