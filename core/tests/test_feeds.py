"""Which operands the programs within an operation take (the rule ``feeds``)."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import bodies_of, stage
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import Feeds, feeds_of

X = rb.typeof(np.ones(3, "f4"))


def last(f, count):
    """The operator of the last equation of a program of ``count`` vectors."""
    return stage(lambda *xs: rb.tree.leaves(f(*xs)), [X] * count).jaxpr.equations[-1]


LOOPS = {
    "scan": lambda x, y: lax.scan(lambda c, z: (c * y[0], c + z), x, y),
    "while": lambda x, y: lax.while_loop(lambda c: c[0] < y[0], lambda c: c * y[1], x),
    "fori": lambda x, y: lax.fori_loop(0, 3, lambda i, c: c * y[1] + i, x),
    "cond": lambda x, y: lax.cond(x[0] < 1, lambda x: x, lambda x: x * y, x),
}


@pytest.mark.parametrize("name", LOOPS)
def test_programs_take_operands_of_their_types(name):
    eqn = last(LOOPS[name], 2)
    feeds, given = feeds_of(eqn.op), [v.aval for v in eqn.inputs]
    for program, body in bodies_of(eqn.op):
        taken = [given[i].update(weak_type=False) for i in feeds.places[program]]
        wanted = [aval.update(weak_type=False) for aval in body.in_avals]
        if name != "scan":  # which slices what it takes
            assert taken == wanted
        assert len(taken) == len(wanted)
        if program not in feeds.decides:
            assert len(body.outvars) == len(eqn.outputs)
    for result, place in feeds.rounds.items():
        assert given[place].shape == eqn.outputs[result].aval.shape
    assert bool(feeds.rounds) == (name != "cond")


def test_a_rule_that_does_not_fit_its_programs():
    own = Primitive(
        "twice_of", lambda *avals, jaxpr: tuple(jaxpr.out_avals), kinds=("body",), multiple_results=True
    )
    op = own.op(jaxpr=stage(lambda x: [lax.sin(x)], [X]).jaxpr)
    assert feeds_of(op) is None

    @own.rule("feeds")
    def feeds_twice(op):
        return Feeds({"jaxpr": range(2)})

    with pytest.raises(TypeError, match=r"'feeds' rule for primitive 'twice_of'.*'jaxpr': 1"):
        feeds_of(op)
