"""Results that nobody reads: what goes out of calls, branches and loops, and what stays."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import bodies_of, check, evaluate, stage
from rabbet.extend.primitive import ShapedArray, call_op
from rabbet_passes.unread import without_unread

from .programs import names

F, I = ShapedArray((3,), "float32"), ShapedArray((), "int32")
X, N = np.float32([0.5, -1.0, 2.0]), np.int32(4)


def after(fn, *avals):
    """The program before and after, checked."""
    before = stage(fn, avals).jaxpr
    return before, check(without_unread(check(before)))


def loop(jaxpr, name):
    (found,) = [eqn for eqn in jaxpr.equations if eqn.op.primitive.name == name]
    return found


def same(before, now, *args):
    one, other = (evaluate(program, args) for program in (before, now))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.forbidden("disable_jit")
def test_a_carried_value_that_only_its_own_next_value_reads_goes():
    def fn(x, n):
        def step(state):
            i, wanted, unwanted = state
            return i + 1, wanted + x, unwanted * lax.sin(wanted)

        return [lax.while_loop(lambda s: s[0] < n, step, (0, x, x))[1]]

    before, now = after(fn, F, I)
    assert len(loop(before, "while").outputs) == 3
    eqn = loop(now, "while")
    assert len(eqn.outputs) == 2 and "sin" not in names(eqn.op.params["body_jaxpr"])
    same(before, now, X, N)


@pytest.mark.forbidden("disable_jit")
def test_what_the_condition_or_another_carried_value_reads_stays():
    def fn(x, n):
        def step(state):
            i, a, b, c = state
            return i + 1, a + b, b * 0.5, c + a

        return [lax.while_loop(lambda s: s[0] < n, step, (0, x, x, x))[1]]

    before, now = after(fn, F, I)
    assert len(loop(now, "while").outputs) == 3
    same(before, now, X, N)


@pytest.mark.forbidden("disable_jit")
def test_constants_that_only_went_into_what_is_gone_go():
    def fn(x, y, n):
        return [lax.fori_loop(0, n, lambda i, s: (s[0] + x, s[1] + lax.exp(y)), (x, x))[0]]

    before, now = after(fn, F, F, I)
    assert "exp" in str(before) and "exp" not in str(now)
    same(before, now, X, X, N)


@pytest.mark.forbidden("disable_jit")
def test_a_scan_stacks_what_is_read_and_takes_what_that_needs():
    def fn(xs, ys):
        def step(carry, slices):
            x, y = slices
            a, b = carry
            return (a + x, b * y), (a, lax.cos(y))

        (total, _), (parts, _) = lax.scan(step, (xs[0], ys[0]), (xs, ys))
        return [total, parts]

    before, now = after(fn, F, F)
    eqn = loop(now, "scan")
    assert (len(eqn.inputs), len(eqn.outputs)) == (2, 2) and "cos" not in names(eqn.op.params["jaxpr"])
    same(before, now, X, X)


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("jit", "pure_callback")  # rb.debug comes with that
def test_a_scan_without_a_result_that_is_read_but_with_an_effect_stays(capfd):
    def fn(x):
        def step(carry, i):
            rb.debug.print("step {}", i)
            return carry * 2.0, carry

        lax.scan(step, x, np.arange(3))
        return [x]

    _, now = after(fn, F)
    eqn = loop(now, "scan")
    assert eqn.outputs == [] and "mul" not in names(eqn.op.params["jaxpr"])
    rb.jit(lambda x: fn(x)[0])(X)
    rb.effects_barrier()
    assert capfd.readouterr().out == "step 0\nstep 1\nstep 2\n"


def test_branches_return_what_is_read():
    def fn(x, y):
        return [lax.cond(x[0] > 0, lambda: (x, lax.exp(y)), lambda: (x * 2.0, y))[0]]

    before, now = after(fn, F, F)
    eqn = loop(now, "cond")
    assert len(eqn.outputs) == 1 and len(eqn.inputs) < len(loop(before, "cond").inputs)
    assert not any("exp" in names(body) for _, body in bodies_of(eqn.op))
    same(before, now, X, X)
    same(before, now, -X, X)


def test_a_call_computes_what_is_read_within_calls_too():
    inner = stage(lambda x, y: [x * 2.0, lax.exp(y)], [F, F]).jaxpr
    outer = stage(lambda x, y: call_op(inner, "inner")(x, lax.sin(y)), [F, F]).jaxpr

    def fn(x, y):
        return call_op(outer, "outer")(x, y)[:1]

    before, now = after(fn, F, F)
    eqn = now.equations[0]
    assert (len(eqn.inputs), len(eqn.outputs)) == (1, 1) and "sin" not in str(now) and "exp" not in str(now)
    same(before, now, X, X)


@pytest.mark.forbidden("disable_jit")
def test_a_program_in_which_all_is_read_is_the_same_object():
    def fn(x, n):
        m, y = lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1] + x), (n, x))
        return [m, *lax.cond(m > 1, lambda: (y * 2.0, m + 1), lambda: (y, m - 1))]

    before, now = after(fn, F, I)
    assert {"while", "cond"} <= set(names(now)) and now is before


def test_a_program_of_operations_alone_is_left_to_dead_code_elimination():
    def fn(x):
        lax.sin(x)
        return [x * 2.0]

    before, now = after(fn, F)
    assert names(now) == ["sin", "mul"] and now is before


@pytest.mark.needs("jit", "grad")
def test_the_derivative_of_a_scan_that_saves_more_than_is_read_is_the_same():
    def f(x):
        (a, _), ys = lax.scan(lambda c, _: ((c[0] * lax.sin(c[1]), c[1] + 1.0), c[0]), (x, x), None, length=4)
        return (a * ys[1]).sum()

    there = rb.jit(rb.grad(f))(X)
    with rb.config.override(disable_passes="unread-results"):
        np.testing.assert_array_equal(rb.jit(rb.grad(lambda x: f(x)))(X), there)
