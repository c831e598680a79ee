"""Passes see the programs that equations carry: inner ones first, shared ones once."""

import numpy as np
import pytest
import rabbet
from rabbet import lax
from rabbet.errors import PluginError
from rabbet.extend.passes import (
    Equation,
    Jaxpr,
    Pass,
    bodies_of,
    check,
    consts_as_inputs,
    evaluate,
    open_calls,
    rewrite_bodies,
    rewrite_equations,
    stage,
)
from rabbet.extend.primitive import call_op
from rabbet.passes import pipeline

SCALAR = rabbet.typeof(np.float32(1))


def program(fn, *avals):
    return consts_as_inputs(stage(fn, list(avals) or [SCALAR]))


def sines_to_cosines(jaxpr, context=None):
    def rule(eqn):
        return (
            Equation(lax.cos.op(), eqn.inputs, eqn.outputs, eqn.where) if eqn.primitive is lax.sin else None
        )

    return rewrite_equations(jaxpr, rule)


def words(jaxpr):
    """The names of all operations, those of bodies included."""
    found = []
    for eqn in jaxpr.equations:
        found.append(eqn.primitive.name)
        for _, body in bodies_of(eqn.op):
            found += words(body)
    return found


def with_bodies(x):
    def step(c, _):
        return lax.cond(
            c > 0, lax.sin, lambda v: lax.while_loop(lambda w: w < 0, lambda w: lax.sin(w) + 1.0, v), c
        ), c

    c, _ = lax.scan(step, lax.sin(x), None, length=2)
    return [c]


def run_alone(p, jaxpr):
    return pipeline.whole_run(p, jaxpr, pipeline.PassContext("cpu"))


def test_a_pass_sees_bodies_of_all_depths():
    before = program(with_bodies)
    assert words(before).count("sin") == 3
    after = run_alone(Pass("sines", sines_to_cosines), before)
    assert "sin" not in words(check(after)) and words(after).count("cos") == 3
    assert words(before).count("sin") == 3  # the argument is left alone

    def cosines(x):
        return with_bodies_of(lax.cos, x)

    def with_bodies_of(f, x):
        def step(c, _):
            inner = lambda v: lax.while_loop(lambda w: w < 0, lambda w: f(w) + 1.0, v)
            return lax.cond(c > 0, f, inner, c), c

        c, _ = lax.scan(step, f(x), None, length=2)
        return [c]

    wanted = evaluate(program(cosines), [np.float32(0.7)], [])
    assert np.allclose(evaluate(after, [np.float32(0.7)], []), wanted)


def test_a_pass_may_leave_bodies_out():
    before = program(with_bodies)
    after = run_alone(Pass("sines", sines_to_cosines, bodies=False), before)
    assert words(after).count("sin") == 2


def test_inner_programs_come_first_and_shared_ones_once():
    inner = program(lambda x: [lax.sin(x)])
    outer = program(lambda x: [call_op(inner, "inner")(call_op(inner, "inner")(x)[0])[0]])
    top = program(lambda x: [lax.sin(call_op(outer, "outer")(x)[0])])
    seen = []

    def watching(jaxpr, context):
        seen.append(len(jaxpr.equations))
        return sines_to_cosines(jaxpr)

    watched = Pass("watching", watching)
    after = run_alone(watched, top)
    assert seen == [1, 2, 2]  # inner (once), outer, top
    (body,) = {b for e in bodies_of(after.equations[0].op) for b in [e[1]]}
    first, second = body.equations
    assert first.op is second.op  # what was shared is shared
    run_alone(watched, top)
    assert seen[3:] == [2]  # bodies remember what they became


def test_what_does_not_change_stays_the_same_object():
    before = program(with_bodies)
    assert rewrite_bodies(before, lambda body: body) is before
    assert rewrite_equations(before, lambda eqn: None) is before


def test_an_equation_may_become_several():
    def parts(eqn):
        if eqn.primitive is not lax.sin:
            return None
        (x,), (y,) = eqn.inputs, eqn.outputs
        twice = program(lambda x: [lax.cos(lax.neg(x))])
        first, second = twice.equations
        return [
            Equation(first.op, [x], first.outputs, eqn.where),
            Equation(second.op, second.inputs, [y], eqn.where),
        ]

    after = check(rewrite_equations(program(lambda x: [lax.sin(x) * 2.0]), parts))
    assert words(after) == ["neg", "cos", "mul"]


@pytest.mark.narrow
def test_calls_are_opened_where_that_is_wanted():
    sine, both = program(lambda x: [lax.sin(x)]), program(lambda x: [lax.neg(x), x, 1.0])

    def calling(x):
        negative, same, one = call_op(both, "both")(lax.exp(x))
        (outer,) = call_op(program(lambda y: call_op(sine, "sine")(y)), "outer")(same)
        return [outer + negative, same, one, x]

    before = program(calling)
    has_sine = lambda body: any(eqn.primitive is lax.sin for eqn in body.equations)
    assert words(check(open_calls(before, lambda body: True))) == ["exp", "neg", "sin", "add"]
    after = check(open_calls(before, has_sine))
    assert [eqn.primitive.name for eqn in after.equations] == ["exp", "jit", "sin", "add"]
    assert open_calls(before, lambda body: False) is before
    assert all(eqn.where for eqn in open_calls(before, lambda body: True).equations)
    for found in (after, open_calls(before, lambda body: True)):
        assert [float(x) for x in evaluate(found, [0.5])] == [float(x) for x in evaluate(before, [0.5])]


def test_dead_code_in_bodies_is_dropped():
    def step(c, _):
        lax.exp(c)  # nobody reads it
        return lax.sin(c), None

    before = program(lambda x: [lax.scan(step, x, None, length=2)[0]])
    assert "exp" not in words(pipeline.run(before, "cpu"))


def test_a_pass_that_breaks_a_body_is_named():
    def careless(jaxpr, context):
        return (
            Jaxpr(jaxpr.invars, [], jaxpr.equations) if jaxpr.outvars and len(jaxpr.equations) == 1 else jaxpr
        )

    inner = program(lambda x: [lax.sin(x)])
    top = program(lambda x: [lax.neg(call_op(inner, "inner")(x)[0])])
    with pytest.raises(PluginError, match="the pass 'careless' changed the inputs or outputs of program"):
        run_alone(Pass("careless", careless), top)


def test_effects_follow_the_equations():
    before = program(lambda x: [lax.sin(x)])
    assert rewrite_equations(before, lambda eqn: []).effects == frozenset()
