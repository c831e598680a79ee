"""A stranger's primitive that carries a program, with a rule ``body`` and a decomposition, under ``grad``."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.extend.bodies import interpret_call
from rabbet.extend.passes import evaluate, stage
from rabbet.extend.primitive import Primitive

pytestmark = pytest.mark.needs("jit", "vmap")
X = np.float32(3)
PROGRAM = stage(lambda x: [lax.mul(x, lax.mul(x, x))], [rb.typeof(X)]).jaxpr


def carrying(name, decomposed):
    p = Primitive(name, lambda *avals, jaxpr: tuple(jaxpr.out_avals), kinds=("body",), multiple_results=True)

    @p.rule("body")
    def through(op, interpreter, args):
        body, operands, finish = interpret_call(interpreter, op["jaxpr"], args)
        return finish(p(*operands, jaxpr=body))

    p.rule("lower")(lambda op, *names: op.inline(op["jaxpr"], names))
    if decomposed:
        p.decompose(lambda op, *args: evaluate(op["jaxpr"], args))
    return lambda x: p(x, jaxpr=PROGRAM)[0]


def test_it_is_taken_apart_by_its_decomposition():
    cube = carrying("decomposed_of_test_bodies", True)
    for f in (cube, rb.jit(cube)):
        assert float(rb.grad(f)(X)) == 27.0 and float(rb.grad(rb.grad(f))(X)) == 18.0
    np.testing.assert_array_equal(rb.vmap(rb.grad(cube))(np.float32([1, 2])), [3, 12])
    looped = lambda x: lax.scan(lambda c, _: (cube(c), None), x, None, length=2)[0]
    assert float(rb.jit(rb.grad(looped))(np.float32(1))) == 9.0


def test_forward_mode_goes_through_its_rule():
    cube = carrying("forwards_of_test_bodies", False)
    assert float(rb.jvp(cube, (X,), (np.float32(1),))[1]) == 27.0


@pytest.mark.parametrize("compiled", [False, True])
def test_without_one_the_error_says_what_to_write(compiled):
    cube = carrying("bare_of_test_bodies", False)
    with pytest.raises(MissingRule, match=r"(?s)reverse mode cannot go through.*give it a decomposition"):
        rb.grad(rb.jit(cube) if compiled else cube)(X)
