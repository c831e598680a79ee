"""What ``jet`` gives: series known in closed form, arguments and results, control flow, and what it gives
with other transformations.
"""

from math import factorial

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.experimental.jet import jet
from rabbet.testing import check_transformation
from rabbet.testing.draws import device_array

LINE = [1.0, 0.0, 0.0, 0.0]


def double(*numbers):
    return device_array(np.array(numbers[0] if len(numbers) == 1 else numbers, np.float64))


def line(order):
    """The series of ``x + t``, in double precision."""
    return [double(1.0)] + [double(0.0)] * (order - 1)


def numbers(terms):
    return [np.asarray(t).tolist() for t in terms]


# ---------------------------------------------------------------------------------- series in closed form
SERIES = {
    "exp": (lax.exp, 0.0, lambda k: 1 / factorial(k)),
    "log1p": (lax.log1p, 0.0, lambda k: 0 if k == 0 else -((-1) ** k) / k),
    "geometric": (lambda t: lax.div(1.0, lax.sub(1.0, t)), 0.0, lambda k: 1),
    "atan": (lax.atan, 0.0, lambda k: 0 if k % 2 == 0 else (-1) ** (k // 2) / k),
    "sqrt": (lambda t: lax.sqrt(lax.add(t, 1.0)), 0.0, lambda k: binomial(0.5, k)),
    "rsqrt": (lambda t: lax.rsqrt(lax.add(t, 1.0)), 0.0, lambda k: binomial(-0.5, k)),
    "pow": (lambda t: lax.pow(lax.add(t, 1.0), 2.5), 0.0, lambda k: binomial(2.5, k)),
    "cos": (lax.cos, 0.0, lambda k: 0 if k % 2 else (-1) ** (k // 2) / factorial(k)),
    "sinh": (lax.sinh, 0.0, lambda k: k % 2 / factorial(k)),
    "tanh": (lax.tanh, 0.0, lambda k: {1: 1, 3: -1 / 3, 5: 2 / 15, 7: -17 / 315}.get(k, 0)),
    "tan": (lax.tan, 0.0, lambda k: {1: 1, 3: 1 / 3, 5: 2 / 15, 7: 17 / 315}.get(k, 0)),
    "a zero of a power": (lambda t: lax.integer_pow(t, 3), 0.0, lambda k: float(k == 3)),
    "abs": (lax.abs, -2.0, lambda k: {0: 2, 1: -1}.get(k, 0)),
}


def binomial(a, k):
    return 1.0 if k == 0 else binomial(a, k - 1) * (a - k + 1) / k


@pytest.mark.parametrize("name", SERIES)
def test_coefficients_are_those_of_the_known_series(name):
    fn, at, coefficient = SERIES[name]
    value, terms = jet(fn, (double(at),), (line(7),), factorial_scaled=False)
    np.testing.assert_allclose(numbers([value, *terms]), [coefficient(k) for k in range(8)], atol=1e-14)


def test_terms_are_derivatives_unless_told_otherwise():
    assert numbers(jet(lax.exp, (0.0,), (LINE,))[1]) == [1, 1, 1, 1]
    assert numbers(jet(lambda x: lax.mul(x, x), (3.0,), ([1.0, 1.0],))[1]) == [6, 8]
    assert numbers(jet(lambda x: lax.mul(x, x), (3.0,), ([1.0, 1.0],), factorial_scaled=False)[1]) == [6, 7]


def test_a_taylor_polynomial_approximates_the_function():
    fn = lambda x: lax.div(lax.sin(lax.exp(x)), lax.add(lax.cosh(x), 1.0))
    value, terms = jet(fn, (double(0.3),), (line(12),), factorial_scaled=False)
    step = 0.05
    total = sum(c * step**k for k, c in enumerate(numbers([value, *terms])))
    assert abs(total - float(fn(double(0.3 + step)))) < 1e-14


# --------------------------------------------------------------------------------- arguments and results
def test_arguments_and_results_are_pytrees():
    fn = lambda p, y: {"product": lax.mul(p["a"], p["b"]), "rest": [y, p["a"]]}
    series = ({"a": [1.0, 0.0], "b": (0.0, 2.0)}, [1.0, 1.0])
    out, terms = jet(fn, ({"a": 2.0, "b": 3.0}, 5.0), series)
    assert out["product"].tolist() == 6
    assert numbers(terms["product"]) == [3, 4]
    assert numbers(terms["rest"][0]) == [1, 1]
    assert numbers(terms["rest"][1]) == [1, 0]


def test_what_does_not_move_has_terms_of_zeros():
    x = np.float32([1, 2])
    _, (constant, compared, index) = jet(
        lambda x: (np.float32([3, 4]), lax.gt(x, 1.5), lax.argmax(x, 0)), (x,), ([x, x],)
    )
    assert numbers(constant) == [[0, 0], [0, 0]]
    assert [(t.shape, t.dtype) for t in compared + index] == [((2,), rb.dtypes.float0)] * 2 + [
        ((), rb.dtypes.float0)
    ] * 2


@pytest.mark.narrow
def test_integers_have_terms_without_bytes():
    nothing = np.zeros((), rb.dtypes.float0)
    fn = lambda x, i: lax.mul(x, lax.convert_element_type(i, np.float32))
    assert numbers(jet(fn, (2.0, 3), ([1.0, 0.0], [nothing, nothing]))[1]) == [3, 0]


def test_types_are_those_of_the_results():
    for x in (1.5, np.float32(1.5), double(1.5), np.complex64(1 + 1j)):
        x = rb.device_put(x)
        value, terms = jet(lax.sin, (x,), ([lax.full_like(x, 1)] * 3,))
        assert {t.aval for t in (value, *terms)} == {x.aval}


def test_order_zero():
    value, terms = jet(lax.sin, (0.0,), ([],))
    assert (value.tolist(), terms) == (0, [])
    value, terms = jet(lambda: lax.add(1.0, 2.0), (), ())
    assert (value.tolist(), terms) == (3, [])


# ----------------------------------------------------------------------------------------- control flow
def cube_by(loop):
    """``x ** 3`` by a loop of three products."""

    def cube(x):
        return loop(lambda y: lax.mul(y, x), lax.full_like(x, 1))

    return cube


LOOPS = {
    "fori": lambda step, y: lax.fori_loop(0, 3, lambda i, y: step(y), y),
    "while": lambda step, y: lax.while_loop(
        lambda c: lax.lt(c[0], 3), lambda c: (lax.add(c[0], 1), step(c[1])), (0, y)
    )[1],
    "scan": lambda step, y: lax.scan(lambda y, _: (step(y), y), y, None, length=3)[0],
    "scan, stacked": lambda step, y: lax.mul(
        lax.index_in_dim(lax.scan(lambda y, _: (step(y), step(y)), y, None, length=3)[1], 2, keepdims=False),
        1.0,
    ),
    "cond": lambda step, y: lax.cond(True, lambda y: step(step(step(y))), lambda y: y, y),
    "a predicate on values": lambda step, y: lax.while_loop(lambda y: lax.lt(y, 7.9), step, y),
}


@pytest.mark.parametrize("name", LOOPS)
def test_control_flow(name):
    value, terms = jet(cube_by(LOOPS[name]), (2.0,), (LINE,))
    assert numbers([value, *terms]) == [8, 12, 12, 6, 0]


def test_python_may_look_at_values():
    fn = lambda x: lax.mul(x, x) if x > 1.0 else lax.neg(x)
    assert numbers(jet(fn, (3.0,), ([1.0, 0.0],))[1]) == [6, 2]
    assert jet(lambda x: lax.mul(x, float(x)), (3.0,), ([1.0],))[1][0].tolist() == 3


def test_branches_of_which_one_does_not_move():
    fn = lambda x: lax.cond(lax.gt(x, 0.0), lambda: lax.full_like(x, 7), lambda: lax.mul(x, x))
    assert numbers(jet(fn, (2.0,), ([1.0, 0.0],))[1]) == [0, 0]
    assert numbers(jet(fn, (-2.0,), ([1.0, 0.0],))[1]) == [-4, 2]


@pytest.mark.narrow
def test_scanned_arrays_move():
    fn = lambda xs: lax.scan(lambda c, x: (lax.add(c, lax.mul(x, x)), c), lax.full((), 0.0), xs)
    (total, _), (terms, stacked) = jet(fn, (np.float32([1, 2, 3]),), ([np.ones(3, "f4"), np.zeros(3, "f4")],))
    assert (total.tolist(), numbers(terms)) == (14, [12, 6])
    assert numbers(stacked) == [[0, 2, 6], [0, 2, 4]]


# --------------------------------------------------------------------------------- other transformations
@pytest.mark.needs("jit", "vmap")
def test_it_keeps_what_the_kit_asks_of_a_transformation():
    line_of = lambda x: (x, [np.ones_like(x), np.zeros_like(x), x])
    check_transformation(lambda fn: lambda p: jet(fn, (p[0],), (p[1],)), line_of)


@pytest.mark.needs("jit", "vmap", "grad")
def test_under_and_over_other_transformations():
    fn = lambda x: lax.mul(lax.sin(x), lax.exp(lax.neg(x)))
    third = lambda x: jet(fn, (x,), ([lax.full_like(x, 1), lax.full_like(x, 0), lax.full_like(x, 0)],))[1][2]
    wanted = lambda x: 2 * np.exp(-x) * (np.cos(x) + np.sin(x))
    fourth = lambda x: -4 * np.exp(-x) * np.sin(x)
    x, xs = double(0.7), double(0.1, 0.7)
    close = lambda got, wanted: np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-13)
    close(third(x), wanted(0.7))
    close(rb.jit(third)(x), wanted(0.7))
    close(rb.vmap(third)(xs), wanted(np.array([0.1, 0.7])))
    close(rb.grad(third)(x), fourth(0.7))
    close(rb.jit(rb.vmap(rb.grad(third)))(xs), fourth(np.array([0.1, 0.7])))
    for transformed in (rb.grad(fn), rb.jit(rb.grad(rb.jit(fn)))):
        _, terms = jet(transformed, (x,), (line(3),))
        close(terms[2], fourth(0.7))
    _, terms = jet(rb.vmap(fn), (xs,), ([double(1.0, 1.0), double(0.0, 0.0), double(0.0, 0.0)],))
    close(terms[2], wanted(np.array([0.1, 0.7])))
    close(jet(third, (x,), (line(1),))[1][0], fourth(0.7))


@pytest.mark.needs("jit", "grad")
def test_through_control_flow_under_other_transformations():
    x, third = double(2.0), lambda fn: lambda x: jet(fn, (x,), (line(3),))[1][2]
    for name in ("fori", "scan", "cond"):
        fn = cube_by(LOOPS[name])
        assert rb.jit(third(lambda x, fn=fn: lax.mul(x, fn(x))))(x).tolist() == 48
        assert rb.grad(third(lambda x, fn=fn: lax.mul(x, fn(x))))(x).tolist() == 24
        assert jet(rb.grad(fn), (x,), (line(2),))[1][1].tolist() == 6


@pytest.mark.needs("custom_jvp", "custom_vjp", "jit", "vmap")
def test_functions_with_rules_of_their_own():
    """A rule of forward mode is followed; one of reverse mode only has nothing to say, the body has."""

    @rb.custom_jvp
    def square(x):
        return lax.mul(x, x)

    @rb.custom_vjp
    def cube(x):
        return lax.integer_pow(x, 3)

    square.defjvp(lambda primals, tangents: (square(*primals), lax.mul(tangents[0], primals[0])))
    cube.defvjp(lambda x: (cube(x), None), lambda _, ct: (ct,))
    x, terms = np.float32([3.0]), [np.float32([1.0]), np.float32([0.0])]
    for fn in (lambda f: f, rb.jit, rb.vmap):
        assert numbers(jet(fn(square), (x,), (terms,))[1]) == [[3], [1]]
        assert numbers(jet(fn(cube), (x,), (terms,))[1]) == [[27], [18]]


@pytest.mark.needs("jit", "jvp", "grad")
def test_solutions_move_with_what_they_solve_and_not_with_the_solver():
    def bisection(f, guess):
        def halved(_, ends):
            middle = lax.mul(lax.add(*ends), 0.5)
            above = lax.gt(f(middle), 0.0)
            return lax.select_n(above, middle, ends[0]), lax.select_n(above, ends[1], middle)

        return lax.fori_loop(0, 60, halved, (lax.full_like(guess, 0), lax.full_like(guess, 4)))[0]

    def root(a):
        f = lambda x: lax.sub(lax.mul(x, x), a)
        return lax.custom_root(
            f, lax.full_like(a, 1), bisection, lambda g, y: lax.div(y, g(lax.full_like(y, 1)))
        )

    def quotient(a):
        divide = lambda f, b: lax.stop_gradient(lax.div(b, f(lax.full_like(b, 1))))
        return lax.custom_linear_solve(lambda v: lax.mul(v, a), double(3.0), divide)

    x = double(2.0)
    for by_solver, known in ((root, lax.sqrt), (quotient, lambda a: lax.div(3.0, a))):
        wanted = numbers(jet(known, (x,), (line(3),))[1])
        for fn in (by_solver, rb.jit(by_solver)):
            np.testing.assert_allclose(numbers(jet(fn, (x,), (line(3),))[1]), wanted, rtol=1e-12)
    third = lambda a: jet(root, (a,), (line(3),))[1][2]
    np.testing.assert_allclose(rb.grad(third)(x), rb.grad(rb.grad(rb.grad(rb.grad(lax.sqrt))))(x))


@pytest.mark.needs("jit")
def test_cost_grows_with_the_square_of_the_order():
    def products(order):
        program = rb.make_jaxpr(lambda x: jet(lambda x: lax.exp(lax.sin(x)), (x,), (line(order),)))(
            double(0.0)
        )
        return str(program).count(" mul ")

    assert products(20) < 5 * products(10)
