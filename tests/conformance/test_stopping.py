"""Loops that can be stopped from outside: which, and what their program says."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.backend import lower_program
from rabbet.extend.passes import stage

pytestmark = pytest.mark.optimized

ONE = np.float32(1)


def module_of(f, *args, **options):
    program = stage(lambda *x: [f(*x)], [rb.typeof(x) for x in args]).jaxpr
    return lower_program(program, platform="cpu", **options).module


def grows(x):
    return lax.while_loop(lambda x: x >= 0, lambda x: x + 1.0, x)


def test_the_condition_is_looked_up_in_a_further_argument():
    module = module_of(grows, ONE)
    other = module.stoppable
    assert "(%arg0: tensor<f32>, %stop: tensor<2xi1>)" in other.key_text
    assert other.key_text.count("dynamic_slice %stop") == other.text.count("dynamic_slice %stop") == 1
    assert "%stop" not in module.text + module.key_text
    assert not set("\x01\x02") & set(module.text + other.text + module.key_text + other.key_text)


def test_loops_in_functions_and_bodies_get_the_table():
    def within(x):
        return lax.scan(lambda c, _: (rb.jit(grows)(grows(c)), c), x, None, length=3)[0]

    text = module_of(lambda x: lax.cond(x > 0, within, lambda x: x, x), ONE).stoppable.key_text
    calls = [line for line in text.splitlines() if "call @grows" in line]
    assert all(", %stop)" in line and ", tensor<2xi1>)" in line for line in calls)
    assert text.count("dynamic_slice %stop") + len(calls) >= 2


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: lax.fori_loop(0, 9, lambda i, x: x + 1.0, x), "counts"),
        (lambda x: lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1], "counts"),
        (lambda x: lax.while_loop(lambda x: True, lambda x: x + 1.0, x), "a constant"),
        (lambda x: lax.while_loop(lambda c: c[1] > 0, lambda c: (c[0] + 1, c[1]), (x, x))[0], "stays"),
        (lambda x: lax.while_loop(lambda c: c[1] > 0, lambda c: (c[0] + 1, x), (x, x))[0], "given"),
        (lambda x: lax.while_loop(lambda c: c[0] > 0, lambda c: (c[1], x), (x, x))[0], "given, a turn later"),
    ],
)
def test_loops_that_need_it_not_or_cannot(f, why):
    assert module_of(f, ONE).stoppable is None, why


def test_programs_that_cannot_run_twice():
    assert module_of(grows, ONE, donated=(0,)).stoppable is None

    def tells(x):
        def turn(x):
            rb.debug.print("{}", x)
            return x + 1.0

        return lax.while_loop(lambda x: x >= 0, turn, x)

    assert module_of(tells, ONE).stoppable is None


def test_programs_that_call_python_without_effects():
    def asks(x):
        return lax.while_loop(lambda x: x >= 0, lambda x: rb.pure_callback(np.sin, rb.typeof(x), x) + 1.0, x)

    assert "dynamic_slice %stop" in module_of(asks, ONE).stoppable.key_text


def test_a_loop_that_ends_gives_the_same():
    def newton(x):
        return lax.while_loop(lambda y: abs(y * y - x) > 1e-6 * x, lambda y: (y + x / y) / 2, x)

    x = np.linspace(1.0, 9.0, 7, dtype=np.float32)
    assert module_of(newton, ONE).stoppable is not None
    assert np.allclose(rb.jit(rb.vmap(newton))(x), np.sqrt(x), rtol=1e-6)
    assert rb.jit(newton)(x[3]) == newton(x[3])
