"""Weights that are transposed before a loop: the same results, the products by rows, and only where few rows
are multiplied.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import config, lax
from rabbet.extend.functions import to_array
from rabbet.extend.passes import check, evaluate, stage
from rabbet_pjrt_cpu import turned_weights

random = np.random.default_rng(0)
W = random.normal(size=(40, 32)).astype("float32") / 6  # rows have 32 places, results 40


def dot(x, y, over, batch=((), ())):
    return lax.dot_general(x, y, (over, batch))


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


def fit(y):
    return lax.tanh(lax.slice_in_dim(y, 0, 32, axis=y.ndim - 1))


def by_its_rows(w, x):
    return fit(dot(x, w, ((x.ndim - 1,), (1,))))


def by_its_transpose(w, x):
    return fit(dot(x, lax.transpose(w, (1, 0)), ((x.ndim - 1,), (0,))))


def weight_first(w, x):
    return fit(lax.transpose(dot(w, x, ((1,), (1,))), (1, 0)))


def several_times(w, x):
    return by_its_rows(w, weight_first(w, x)) + by_its_transpose(w, x)


def twice(w, x):
    """The backward pass of a product with a transpose multiplies by the transpose of that."""
    turned = lax.transpose(w, (1, 0))
    return lax.tanh(dot(dot(x, turned, ((x.ndim - 1,), (0,))), turned, ((x.ndim - 1,), (1,))))


def in_a_function(w, x):
    jit = getattr(rb, "jit", lambda f: f)
    return jit(by_its_rows)(w, x)


STEPS = [by_its_rows, by_its_transpose, weight_first, several_times, twice, in_a_function]


def looped(step, length=20):
    def run(w, x):
        return lax.scan(lambda x, _: (step(w, x), total(x)), x, None, length=length)

    return run


def passed(f, *args):
    """A program before and after the pass."""
    before = stage(lambda *args: rb.tree.leaves(f(*args)), [rb.typeof(to_array(x)) for x in args])
    after = turned_weights.PASS.apply(before.jaxpr)
    check(after)
    return before, after


def rows(*shape, dtype="float32"):
    return random.normal(size=(*shape, 32)).astype(dtype)


def is_turned(f, *args):
    before, after = passed(f, *args)
    return after is not before.jaxpr


def products(jaxpr):
    """The dimension numbers of the products in the scans of a program."""
    bodies = [eqn.params["jaxpr"] for eqn in jaxpr.equations if eqn.primitive.name == "scan"]
    equations = [eqn for body in bodies for eqn in body.equations]
    return [eqn.params["dimension_numbers"] for eqn in equations if eqn.primitive.name == "dot_general"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("shape", [(2,), (5,)])
def test_results_are_those_of_the_loop_as_it_is(step, shape):
    x = rows(*shape)
    before, after = passed(looped(step), W, x)
    assert after is not before.jaxpr
    assert set(products(after)) == {(((1,), (0,)), ((), ()))}
    wanted = evaluate(before.jaxpr, [W, x], before.consts)
    for a, b in zip(evaluate(after, [W, x], before.consts), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_rows_in_several_dimensions_and_doubles():
    with config.override(enable_x64=True):
        w, x = W.astype("float64"), rows(2, 3, dtype="float64")
        before, after = passed(looped(by_its_rows), w, x)
        assert products(after) == [(((2,), (0,)), ((), ()))]
        wanted = evaluate(before.jaxpr, [w, x], before.consts)
        for a, b in zip(evaluate(after, [w, x], before.consts), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_the_backward_pass_of_a_recurrent_network_is_turned():
    pytest.importorskip("rabbet_autodiff", reason="the package rabbet-autodiff is not installed")

    def loss(w, x):
        h, _ = lax.scan(lambda h, _: (lax.tanh(dot(h, w, ((1,), (0,)))), None), x, None, length=20)
        return total(h)

    w, x = W[:32], rows(4)
    slope = rb.grad(loss, (0, 1))
    _, after = passed(slope, w, x)
    assert set(products(after)) == {(((1,), (0,)), ((), ()))}
    found = slope(w, x)
    with config.override(disable_passes=("turned-weights",)):
        wanted = slope(w, x)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_where_nothing_gains_programs_stay_as_they_are():
    assert not is_turned(looped(by_its_rows), W, rows(1))
    assert not is_turned(looped(by_its_rows), W, rows(turned_weights.MOST_ROWS + 1))
    assert is_turned(looped(by_its_rows), W, rows(turned_weights.MOST_ROWS))
    assert not is_turned(looped(by_its_rows, length=turned_weights.LEAST_STEPS - 1), W, rows(4))
    small = random.normal(size=(31, 31)).astype("float32")
    halves = lambda w, x: lax.tanh(dot(x, w, ((1,), (1,))))
    assert not is_turned(looped(halves), small, rows(4)[:, :31])
    along = lambda w, x: fit(dot(x, w, ((1,), (0,))))
    assert not is_turned(looped(along), W.T.copy(), rows(4))


def test_weights_that_change_and_products_in_batches_stay():
    def changing(w, x):
        return lax.scan(lambda s, _: ((s[0] * 0.9, by_its_rows(*s)), None), (w, x), None, length=20)

    def batches(w, x):
        step = lambda x, _: (fit(dot(x, w, ((2,), (2,)), ((0,), (0,)))), None)
        return lax.scan(step, x, None, length=20)

    assert not is_turned(changing, W, rows(4))
    assert not is_turned(batches, np.stack([W, W]), rows(2, 4))
    assert not is_turned(looped(by_its_rows), W.astype("float16"), rows(4).astype("float16"))
