"""Loops of an unknown number of steps beneath reverse mode: no obstacle where no cotangent reaches them."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax


def steps_until(limit, step):
    """The first multiple of ``step`` that is not below ``limit``, and how many steps it took."""
    return lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] + step, s[1] + 1), (0.0, 0))


def without(limit, step):
    reached, _ = steps_until(limit, step)
    return lax.stop_gradient(reached) * limit * step


def test_a_loop_whose_result_is_stopped():
    """d/dlimit of c * limit * step, where c is 3 * step."""
    np.testing.assert_allclose(rb.grad(without, (0, 1))(2.5, 1.0), (3.0, 7.5))


def test_only_what_is_read_has_to_be_known():
    def count_only(limit, step):
        return steps_until(limit, step)[1] * limit

    assert float(rb.grad(count_only)(2.5, 1.0)) == 3.0


@pytest.mark.needs("jit")
def test_compiled_and_checked():
    with rb.config.override(enable_checks=True):
        np.testing.assert_allclose(rb.jit(rb.grad(without, (0, 1)))(2.5, 1.0), (3.0, 7.5))


@pytest.mark.needs("jit", "vmap")
def test_mapped_and_within_other_bodies():
    limits = np.array([0.5, 2.5, 4.0], "float32")

    def total(step):
        return lax.reduce_sum(rb.vmap(lambda limit: rb.jit(without)(limit, step))(limits), axes=(0,))

    def in_scan(step):
        return lax.scan(lambda c, limit: (c + without(limit, step), None), 0.0, limits)[0]

    reached = np.array([1.0, 3.0, 4.0])
    for function in (total, in_scan, rb.jit(total), rb.jit(in_scan)):
        np.testing.assert_allclose(rb.grad(function)(1.0), (reached * limits).sum())


def test_its_linear_half_runs_forward():
    def halved(x):
        return lax.while_loop(lambda v: v > 1.0, lambda v: v * 0.5, x)

    out, linear = rb.linearize(halved, 6.0)
    assert (float(out), float(linear(8.0))) == (0.75, 1.0)


def test_a_constant_of_the_condition_is_differentiated_elsewhere():
    def f(limit):
        reached = lax.while_loop(lambda v: v < limit, lambda v: v + limit / 4, 0.0)
        return lax.stop_gradient(reached) * limit**2

    assert float(rb.grad(f)(2.0)) == 8.0


def test_a_cotangent_that_reaches_it_is_refused():
    with pytest.raises(rb.errors.ReverseModeError, match=r"a while_loop at .*test_while\.py"):
        rb.grad(lambda limit: steps_until(limit, limit)[0])(2.5)


@pytest.mark.needs("jit")
def test_the_refusal_of_a_compiled_one_says_where():
    with pytest.raises(rb.errors.ReverseModeError, match=r"test_while\.py"):
        rb.grad(rb.jit(lambda limit: steps_until(limit, limit)[0]))(2.5)


@pytest.mark.needs("debug")
def test_what_its_body_does_besides_is_not_done_twice():
    def f(x):
        def body(v):
            rb.debug.print("{}", v)
            return v * 0.5

        return lax.stop_gradient(lax.while_loop(lambda v: v > 1.0, body, x)) * x

    with pytest.raises(rb.errors.ReverseModeError):
        rb.grad(f)(6.0)
