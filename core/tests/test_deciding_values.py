"""Where payloads are the values themselves, these decide branches and loops: results and arguments."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, typeof
from rabbet.extend.passes import evaluate, stage
from rabbet.extend.transform import Interpreter, RuleTable, run

rules = RuleTable("counted_of_deciding", doc="(op, *values) -> value")


@rules.otherwise(before_decompositions=True)
def as_it_is(op, *values):
    return op(*values)


class Counted(Interpreter):
    """Its state is how many sines were computed."""

    table = rules
    threads = carries = True

    def __init__(self):
        self.state = np.int32(0)

    def key(self):
        return Counted

    def lift(self, value):
        return value

    def type_of(self, value):
        return typeof(value)

    def wrap(self, value):
        return value

    def process(self, op, args):
        out = super().process(op, args)
        if op.primitive is lax.sin:
            self.state = self.at_parent(lax.add, self.state, np.int32(1))
        return out


def counted(fn):
    def of(*args):
        interpreter = Counted()
        out = run(interpreter, fn, args)
        return out, interpreter.state

    return of


def recorded(fn):
    def of(*args):
        program = stage(lambda *xs: list(counted(fn)(*xs)), [typeof(x) for x in args]).jaxpr
        return evaluate(program, args)

    return of


X = np.float32(0.5)
WAYS = pytest.mark.parametrize("way", [counted, recorded])


@WAYS
def test_an_argument_decides_a_branch(way):
    f = lambda flag, x: lax.cond(flag, lambda x: lax.sin(lax.sin(x)), lambda x: x, x)
    for flag, sines in ((True, 2), (False, 0)):
        out, count = way(f)(np.bool_(flag), X)
        assert int(count) == sines
        assert float(out) == pytest.approx(np.sin(np.sin(0.5)) if flag else 0.5)


@WAYS
def test_an_index_that_was_given_decides_a_switch(way):
    f = lambda i, x: lax.switch(i, [lambda x: x, lax.sin, lambda x: lax.sin(lax.sin(x))], x)
    assert [int(way(f)(np.int32(i), X)[1]) for i in range(3)] == [0, 1, 2]


@WAYS
def test_what_a_loop_carries_ends_it(way):
    def f(go, x):
        return lax.while_loop(lambda c: c[0], lambda c: (c[1] > 0.45, lax.sin(c[1])), (go, x))[1]

    expected, sines = 0.5, 0
    go = True
    while go:
        go, expected, sines = expected > 0.45, np.sin(expected), sines + 1
    out, count = way(f)(np.bool_(True), X)
    assert float(out) == pytest.approx(expected, rel=1e-5) and int(count) == sines > 1
    assert int(way(f)(np.bool_(False), X)[1]) == 0


@WAYS
def test_within_branches_and_loops(way):
    def f(flag, x):
        def step(c, _):
            return lax.cond(flag, lambda c: lax.cond(c > 0.45, lax.sin, lambda c: c, c), lambda c: c, c), None

        return lax.scan(step, x, None, length=4)[0]

    out, count = way(f)(np.bool_(True), X)
    assert int(count) == 3 and float(out) == pytest.approx(np.sin(np.sin(np.sin(0.5))))
    assert int(way(f)(np.bool_(False), X)[1]) == 0


@pytest.mark.needs("vmap")
def test_of_many_examples_each_decides_by_itself():
    f = lambda flag, x: lax.cond(flag, lax.sin, lambda x: x, x)
    counts = rb.vmap(counted(f), (0, None))(np.array([True, False, True]), X)[1]
    assert counts.tolist() == [1, 0, 1]
