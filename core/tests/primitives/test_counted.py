"""What a loop counts, for who writes programs into other languages."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import Literal, stage
from rabbet.extend.rules import counted

INT = rb.typeof(np.int32(3))


def loop_of(function, *avals):
    """The ``while`` in a function's program."""
    found = [e for e in stage(function, avals).jaxpr.equations if e.primitive.name == "while"]
    return found[-1]


def test_a_computed_bound_is_an_operand():
    eqn = loop_of(lambda a, n, x: [lax.fori_loop(a, n, lambda i, x: x * 2, x)], INT, INT, rb.typeof(1.0))
    found = counted(eqn.op)
    first = eqn.op.params["cond_consts"] + eqn.op.params["body_consts"]
    assert found.step == 1
    bound, start = eqn.inputs[found.bound], eqn.inputs[first + found.counter]
    (program,) = [
        stage(lambda a, n, x: [lax.fori_loop(a, n, lambda i, x: x * 2, x)], [INT, INT, rb.typeof(1.0)])
    ]
    assert bound is not start and bound.aval.dtype == start.aval.dtype == "int32" and program.jaxpr.equations


def test_a_bound_that_the_condition_holds():
    bound = lambda n: [
        lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 2, c[1] * 3), (np.int32(0), 1.0))[1]
    ]
    eqn = loop_of(bound, INT)
    found = counted(eqn.op)
    assert found.step == 2 and found.counter == 0 and eqn.inputs[found.bound].aval == INT
    literal = loop_of(lambda n: [lax.while_loop(lambda c: c < 7, lambda c: c + 1, n)], INT)
    assert type(counted(literal.op).bound) is Literal and counted(literal.op).bound.value == 7


@pytest.mark.parametrize(
    "body",
    [lambda c: c - 1, lambda c: c * 2, lambda c: c + c, lambda c: c],
    ids=["down", "times", "itself", "never"],
)
def test_loops_that_do_not_count(body):
    assert counted(loop_of(lambda n: [lax.while_loop(lambda c: c < 7, body, n)], INT).op) is None


def test_a_bound_that_moves_does_not_count():
    moving = lambda n: lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1] - 1), (np.int32(0), n))
    assert counted(loop_of(moving, INT).op) is None
