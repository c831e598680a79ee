"""Updates in place that follow on one another: the same results, and no loop that holds them all."""

import re

import numpy as np
import pytest
import rabbet as rb
from rabbet import config, lax
from rabbet.extend.passes import check, evaluate, stage
from rabbet_pjrt_cpu import updates_apart

A = (np.random.default_rng(0).normal(size=(9, 9)) + 9 * np.eye(9)).astype("float32")


def put(a, values, *starts):
    return lax.dynamic_update_slice(a, values, starts)


def part(a, *bounds):
    return lax.slice(a, [low for low, _ in bounds], [high for _, high in bounds])


def elimination(a):
    n = a.shape[0]
    for k in range(n - 1):
        below, rest = (k + 1, n), (k, k + 1)
        column = part(a, below, rest) / lax.broadcast_in_dim(a[k, k], (n - k - 1, 1), ())
        a = put(a, column, k + 1, k)
        product = lax.dot_general(part(a, below, rest), part(a, rest, below), (((1,), (0,)), ((), ())))
        a = put(a, part(a, below, below) - product, k + 1, k + 1)
    return a


def edges(a, count=6):
    n = a.shape[0]
    for _ in range(count):
        a = put(a, part(a, (1, 2), (0, n)), 0, 0)
        a = put(a, part(a, (0, n), (n - 2, n - 1)) * 0.5, 0, n - 1)
    return a


def written(a):
    """Values that come from elsewhere."""
    out = lax.full((9, 9), 0.0)
    for k in range(9):
        out = put(out, lax.sin(part(a, (k, k + 1), (0, 9))), k, 0)
    return out


def passed(f, *args):
    before = stage(lambda *args: [f(*args)], [rb.typeof(rb.lax.add(x, 0.0)) for x in args])
    after = updates_apart.PASS.apply(before.jaxpr)
    check(after)
    return before.jaxpr, after


def barriers(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.equations].count("optimization_barrier")


@pytest.mark.parametrize(("f", "count"), [(elimination, 15), (edges, 11)])
def test_results_are_the_same(f, count):
    before, after = passed(f, A)
    assert barriers(after) == count and barriers(before) == 0
    (wanted,), (found,) = evaluate(before, [A]), evaluate(after, [A])
    np.testing.assert_array_equal(found, wanted)


def test_an_elimination_is_one():
    found = np.asarray(evaluate(passed(elimination, A)[1], [A])[0], "float64")
    lower, upper = np.tril(found, -1) + np.eye(9), np.triu(found)
    np.testing.assert_allclose(lower @ upper, A, rtol=1e-4, atol=1e-4)


def test_short_chains_and_values_from_elsewhere_stay_as_they_are():
    for f in (written, lambda a: edges(a, 2), lambda a: elimination(a[:4, :4])):
        before, after = passed(f, A)
        assert after is before
    before, after = passed(lambda a: edges(a, updates_apart.LEAST // 2), A)
    assert after is not before


def test_no_fused_loop_holds_the_chain():
    pytest.importorskip("rabbet_jit", reason="rb.jit is in the package rabbet-jit")

    def largest(f):
        text = rb.jit(f).lower(A).compile().as_text()
        bodies = re.findall(r"fused_computation[^\n]*\{\n(.*?)^\}", text, re.M | re.S)
        return max([body.count("\n") for body in bodies])

    assert largest(lambda a: edges(a, 12)) <= 20
    for f in (elimination, edges):
        np.testing.assert_allclose(rb.jit(f)(A), f(A), rtol=1e-5, atol=1e-6)


def test_derivatives_and_loops():
    pytest.importorskip("rabbet_autodiff", reason="the package rabbet-autodiff is not installed")

    def loss(a):
        return lax.reduce_sum(lax.scan(lambda a, _: (edges(a), None), a, None, length=2)[0] ** 2, axes=(0, 1))

    found = rb.grad(loss)(A)
    with config.override(disable_passes=("updates-apart",)):
        wanted = rb.grad(loss)(A)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
