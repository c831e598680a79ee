"""Random compositions of elementwise functions, differentiated in both modes, against finite differences in
float64.
"""

import numpy as np
import pytest
import rabbet as rb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rabbet import lax

# Functions whose values and slopes stay moderate on [-2, 2], so that compositions do too.
UNARY = {
    "sin": lax.sin,
    "cos": lax.cos,
    "tanh": lax.tanh,
    "logistic": lax.logistic,
    "neg": lax.neg,
    "erf": lax.erf,
    "square": lambda x: x * x * 0.5,
    "sqrt": lambda x: lax.sqrt(x * x + 1),
    "rsqrt": lambda x: lax.rsqrt(x * x + 1),
    "log": lambda x: lax.log(x * x + 1.5),
    "log1p": lambda x: lax.log1p(x * x),
    "exp": lambda x: lax.exp(lax.tanh(x)),
    "atan": lax.atan,
    "cube": lambda x: lax.integer_pow(lax.tanh(x), 3),
    "asinh": lax.asinh,
    "shift": lambda x: 1.5 - x,
    "expm1": lambda x: lax.expm1(lax.sin(x)),
    "pow": lambda x: (x * x + 1) ** 0.75,
    "scale": lambda x: x * 0.5 + 0.1,
}
BINARY = {
    "add": lambda x, y: (x + y) * 0.5,
    "sub": lambda x, y: (x - y) * 0.5,
    "mul": lambda x, y: lax.tanh(x) * y,
    "div": lambda x, y: x / (y * y + 1),
    "atan2 of numbers": lambda x, y: lax.atan2(x, 2) * lax.atan2(3, y) * lax.pow(2, lax.tanh(y)),
    "atan2": lambda x, y: lax.atan2(x, y * y + 1),
}

programs = st.recursive(
    st.just("x"),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(UNARY)), inner),
        st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
    ),
    max_leaves=5,
)
points = st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=3)


def function_of(program):
    if program == "x":
        return lambda x: x
    name, *inner = program
    parts = [function_of(p) for p in inner]
    table = UNARY if len(parts) == 1 else BINARY
    return lambda x: table[name](*[part(x) for part in parts])


def double(values):
    return lax.convert_element_type(np.asarray(values, "f8"), "float64")


def total(f):
    return lambda x: lax.reduce_sum(f(x), axes=(0,))


def slope(f, x, t, step=1e-6):
    """The derivative of ``f`` in the direction ``t`` by a central difference; error about 1e-9."""
    up, down = f(double(np.asarray(x) + step * t)), f(double(np.asarray(x) - step * t))
    return (np.asarray(up) - np.asarray(down)) / (2 * step)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@few
@given(programs, points)
def test_forward_mode(program, point):
    f, x = function_of(program), double(point)
    t = np.cos(np.arange(len(point)))
    out, tangent = rb.jvp(f, (x,), (double(t),))
    assert out.dtype == tangent.dtype == np.float64
    close(tangent, slope(f, x, t))


@few
@given(programs, points)
def test_reverse_mode(program, point):
    f, x = function_of(program), double(point)
    gradient = rb.grad(total(f))(x)
    assert gradient.dtype == np.float64
    close(gradient, [slope(total(f), x, unit) for unit in np.eye(len(point))])


@few
@given(programs, points)
def test_second_order(program, point):
    f, x = function_of(program), double(point)
    t = np.sin(1 + np.arange(len(point)))
    g = rb.grad(total(f))
    wanted = slope(g, x, t)
    close(rb.jvp(g, (x,), (double(t),))[1], wanted)
    close(rb.grad(lambda x: lax.reduce_sum(g(x) * double(t), axes=(0,)))(x), wanted)
    forward = lambda x: lax.reduce_sum(rb.jvp(f, (x,), (double(np.ones(len(point))),))[1], axes=(0,))
    close(lax.reduce_sum(rb.grad(forward)(x) * double(t), axes=(0,)), wanted.sum())


@few
@given(programs, points)
def test_maps_and_derivatives_commute(program, point):
    f, x = function_of(program), double(point)
    close(rb.vmap(rb.grad(f))(x), rb.grad(total(rb.vmap(f)))(x))
    close(rb.vmap(rb.grad(f))(x), rb.grad(total(f))(x))


@pytest.mark.needs("jit")
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(programs, points)
def test_compiled_derivatives(program, point):
    from rabbet.extend.passes import check

    f, x = function_of(program), double(point)
    g = rb.grad(total(f))
    wanted = g(x)
    close(rb.jit(g)(x), wanted)
    close(rb.grad(rb.jit(total(f)))(x), wanted)
    check(rb.make_jaxpr(g)(x))
    check(rb.make_jaxpr(rb.grad(lambda x: lax.reduce_sum(g(x), axes=(0,))))(x))
