"""Common subexpressions: what is merged, and what never is."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import check, stage
from rabbet.extend.primitive import Primitive, ShapedArray, call_op
from rabbet_passes.cse import merge_equal

from .programs import names, results

F = ShapedArray((3,), "float32")


def merged(fn, *avals):
    return names(check(merge_equal(stage(fn, avals or (F,)).jaxpr)))


def test_equal_equations_are_one_also_where_only_their_inputs_became_equal():
    assert merged(lambda x: [lax.sin(x) * lax.sin(x)]) == ["sin", "mul"]
    assert merged(lambda x: [lax.cos(lax.sin(x)), lax.cos(lax.sin(x))]) == ["sin", "cos"]
    assert merged(lambda x: [x * 2.0, x * 2.0, x * 3.0]) == ["mul", "mul"]


def test_parameters_types_and_signs_of_zero_count():
    assert merged(lambda x: [lax.reshape(x, (1, 3)), lax.reshape(x, (3, 1))]) == ["reshape"] * 2
    assert merged(lambda x: [x + 0.0, x + -0.0]) == ["add"] * 2
    assert merged(lambda x: [x - 1.0, 1.0 - x]) == ["sub"] * 2


def test_a_program_with_nothing_equal_is_returned_as_it_is():
    jaxpr = stage(lambda x: [lax.sin(x) + lax.cos(x)], [F]).jaxpr
    assert merge_equal(jaxpr) is jaxpr


def test_effects_hidden_state_and_barriers_stay_apart():
    pytest.importorskip("rabbet.random")
    noisy = Primitive("noisy_of_test_cse", lambda x: x, kinds=("effect",))

    def fn(x):
        noisy(x)
        noisy(x)
        low, high = lax.reduce_sum(x, (0,)), lax.reduce_max(x, (0,))
        a = lax.rng_uniform(low, high, (2,))
        b = lax.rng_uniform(low, high, (2,))
        return [a, b, lax.optimization_barrier(x), lax.optimization_barrier(x)]

    found = merged(fn)
    assert found.count("noisy_of_test_cse") == 2
    assert found.count("rng_uniform") == 2
    assert found.count("optimization_barrier") == 2


def test_calls_are_merged_by_what_is_in_them():
    pytest.importorskip("rabbet.random")
    pure = call_op(stage(lambda x: [lax.sin(x) * lax.sin(x)], [F]).jaxpr, "pure")
    limits = stage(lambda x: [lax.rng_uniform(x[0], x[1], (2,))], [F]).jaxpr
    random = call_op(limits, "random")
    nested = call_op(stage(lambda x: random(x), [F]).jaxpr, "nested")
    jaxpr = stage(lambda x: [*pure(x), *pure(x), *nested(x), *nested(x)], [F]).jaxpr
    after = check(merge_equal(jaxpr))
    calls = [eqn.op.params["name"] for eqn in after.equations]
    assert calls == ["pure", "nested", "nested"]
    assert names(after.equations[0].op.params["jaxpr"]) == ["sin", "mul"]


@pytest.mark.needs("checkpoint")
def test_what_checkpoint_computes_again_is_computed_again():
    (eqn,) = stage(lambda x: [rb.checkpoint(lax.sin)(x)], [F]).jaxpr.equations
    again = eqn.op.replaced(differentiated=True)
    assert merged(lambda x: [*again(x), *again(x)]) == ["checkpoint"] * 2


@pytest.mark.forbidden("disable_jit")
def test_bodies_of_loops_are_rewritten_once_for_all_their_callers():
    body = stage(lambda x: [lax.sin(x) + lax.sin(x)], [F]).jaxpr
    call = call_op(body, "f")
    after = merge_equal(stage(lambda x: [*call(x), *call(x + 1.0)], [F]).jaxpr)
    one, two = [e.op.params["jaxpr"] for e in after.equations if e.op.primitive.name == "jit"]
    assert one is two and names(one) == ["sin", "add"]
    looped = stage(lambda x: [lax.fori_loop(0, 3, lambda i, y: lax.sin(y) + lax.sin(y), x)], [F]).jaxpr
    x = np.float32([1, 2, 3])
    assert results(check(merge_equal(looped)), [x]) == results(looped, [x])
