"""Interpreters that thread a state: a counter of additions and a collector that learns names on the way."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, tree
from rabbet.extend.bodies import HOLE
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.passes import stage
from rabbet.extend.primitive import full_of_type
from rabbet.extend.transform import Interpreter, RuleTable, run, typeof

rules = RuleTable("tally_of_test_state", doc="(op, *values) -> value")


@rules.otherwise
def unchanged(op, *values):
    return op(*values)


class Tally(Interpreter):
    """Payload: the value itself. State: how many additions have run."""

    table = rules
    threads = True
    lifts_typed = False

    def __init__(self):
        self.state = array_or_tracer(np.int32(0))

    def key(self):
        return Tally

    def lift(self, value):
        return value

    def type_of(self, payload):
        return typeof(payload)

    def wrap(self, payload):
        return payload

    def process(self, op, args):
        if op.primitive is lax.add:
            self.state = self.at_parent(lax.add, self.state, 1)
        return super().process(op, args)


def additions(fn, *args):
    interpreter = Tally()
    out = run(interpreter, fn, [array_or_tracer(np.float32(x)) for x in args])
    return float(out), int(interpreter.state)


def test_straight_lines():
    assert additions(lambda x: lax.add(lax.mul(x, 2.0), lax.add(x, 1.0)), 3) == (10.0, 2)


def test_what_does_not_depend_on_inputs_counts_too():
    assert additions(lambda x: lax.add(1.0, 2.0), 0) == (3.0, 1)


def test_each_branch_hands_on_its_state():
    def fn(flag):
        return lambda x: lax.cond(flag, lambda v: lax.add(lax.add(v, 1.0), 1.0), lambda v: v, x)

    assert additions(fn(True), 3) == (5.0, 2)
    assert additions(fn(False), 3) == (3.0, 0)


def test_a_branch_that_depends_on_the_input_runs_alone():
    def fn(x):
        return lax.cond(lax.gt(x, 0.0), lambda v: lax.add(v, 1.0), lambda v: lax.mul(v, 2.0), x)

    assert additions(fn, 3) == (4.0, 1)
    assert additions(fn, -3) == (-6.0, 0)


def test_loops_carry_it_from_round_to_round():
    assert (
        additions(lambda x: lax.fori_loop(0, 5, lambda i, c: lax.mul(lax.add(c, 1.0), 1.0), x), 0)[0] == 5.0
    )

    def counted(x):
        return lax.while_loop(lambda c: lax.lt(c, 4.0), lambda c: lax.add(c, 1.0), x)

    assert additions(counted, 0) == (4.0, 4)


def test_the_condition_of_a_loop_counts():
    def fn(x):
        return lax.while_loop(lambda c: lax.lt(lax.add(c, 0.0), 3.0), lambda c: lax.mul(c, 2.0), x)

    assert additions(fn, 1) == (4.0, 3)


def test_scans_carry_it_beside_their_own_carry_and_stacks():
    def fn(x):
        carry, ys = lax.scan(lambda c, i: (lax.add(c, i), c), x, np.float32([1, 2, 3]))
        return lax.add(carry, lax.reduce_sum(ys, (0,)))

    assert additions(fn, 1) == (7.0 + 1.0 + 2.0 + 4.0, 4)


def test_a_scan_without_carry():
    def fn(x):
        _, ys = lax.scan(lambda c, i: (c, lax.add(i, 1.0)), None, np.float32([1, 2, 3]))
        return lax.mul(x, lax.reduce_sum(ys, (0,)))

    assert additions(fn, 1) == (9.0, 3)


@pytest.mark.needs("jit")
def test_calls_inside_and_outside():
    def fn(x):
        return rb.jit(lambda v: lax.add(lax.add(v, 1.0), 1.0))(x)

    assert additions(fn, 3) == (5.0, 2)
    got = rb.jit(lambda x: run_and_count(fn, x))(3.0)
    assert (float(got[0]), int(got[1])) == (5.0, 2)


def run_and_count(fn, x):
    interpreter = Tally()
    return run(interpreter, fn, [x]), interpreter.state


def test_nothing_of_the_loop_is_run_while_it_is_staged():
    closed = stage(
        lambda x: list(run_and_count(lambda v: lax.fori_loop(0, 1000, lambda i, c: lax.mul(c, 2.0), v), x)),
        [typeof(1.0)],
    )
    assert len(closed.jaxpr.equations) < 20


# ----------------------------------------------------------------- a state whose static part grows on the way
class Names:
    """For each of its names how many times it was met."""

    def __init__(self, names=(), counts=()):
        self.names, self.counts = names, counts

    def met(self, name):
        known = dict(zip(self.names, self.counts, strict=True))
        known[name] = lax.add(known.get(name, np.int32(0)), np.int32(1))
        return Names(tuple(sorted(known)), tuple(known[n] for n in sorted(known)))


tree.register_node(Names, lambda s: (s.counts, s.names), lambda names, counts: Names(names, counts))


class Collect(Tally):
    def __init__(self):
        self.state = Names()

    def key(self):
        return Collect

    def process(self, op, args):
        if op.primitive.name in ("sin", "exp"):
            self.state = self.at_parent(self.state.met, op.primitive.name)
        return Interpreter.process(self, op, args)

    def join_state(self, a, b):
        names = tuple(sorted({*a.names, *b.names}))
        return Names(names, (HOLE,) * len(names))

    def force_state(self, state, like):
        known = dict(zip(state.names, state.counts, strict=True))
        zero = full_of_type(typeof(np.int32(0)), 0)
        return Names(like.names, tuple([known.get(n, zero) for n in like.names]))


def collected(fn, x):
    interpreter = Collect()
    run(interpreter, fn, [array_or_tracer(np.float32(x))])
    return {n: int(c) for n, c in zip(interpreter.state.names, interpreter.state.counts, strict=True)}


def test_branches_join_what_they_met():
    def fn(x):
        return lax.cond(lax.gt(x, 0.0), lax.sin, lax.exp, x)

    assert collected(fn, 1) == {"exp": 0, "sin": 1}
    assert collected(fn, -1) == {"exp": 1, "sin": 0}


def test_a_loop_starts_with_what_its_body_will_meet():
    assert collected(lambda x: lax.fori_loop(0, 3, lambda i, c: lax.sin(c), lax.exp(x)), 0) == {
        "exp": 1,
        "sin": 3,
    }


def test_without_the_methods_the_error_says_which():
    class Lacking(Collect):
        join_state = Interpreter.join_state

        def key(self):
            return Lacking

    interpreter = Lacking()
    with pytest.raises(TypeError, match=r"Lacking must define join_state\(a, b\)"):
        run(
            interpreter,
            lambda x: lax.cond(lax.gt(x, 0.0), lax.sin, lax.exp, x),
            [array_or_tracer(np.float32(1))],
        )


@pytest.mark.needs("grad", "custom_jvp")
def test_derivative_rules_of_functions_survive():
    class Carrying(Tally):
        carries = True

        def key(self):
            return Carrying

    @rb.custom_jvp
    def own(x):
        return lax.add(lax.sin(x), 1.0)

    own.defjvp(lambda primals, tangents: (own(*primals), lax.mul(tangents[0], 7.0)))

    def counted(x):
        interpreter = Carrying()
        return run(interpreter, lambda v: lax.add(own(v), 0.0), [x]), interpreter.state

    slope, count = rb.grad(counted, has_aux=True)(0.5)
    assert (float(slope), int(count)) == (7.0, 2)

    def solved(b):
        interpreter = Carrying()
        solve = lambda matvec, b: lax.sub(lax.add(b, 1.0), 1.0)
        vector = lambda v: lax.custom_linear_solve(lambda v: v, v, solve, symmetric=True)
        return run(interpreter, vector, [b]), interpreter.state

    slope, count = rb.grad(solved, has_aux=True)(0.5)
    assert (float(slope), int(count)) == (1.0, 1)


# What would be lost ---------------------------------------------------------------------------------


class Forgetful(Tally):
    threads = False

    def wrap(self, payload):
        self.state = lax.add(self.state, 1)
        return super(Tally, self).wrap(payload)


LOSING = {
    "scan": lambda x: lax.scan(lambda c, _: (lax.neg(c), None), x, None, length=2)[0],
    "cond": lambda x: lax.cond(True, lax.neg, lax.abs, x),
    "while_loop": lambda x: lax.while_loop(lambda c: False, lax.neg, x),
}


@pytest.mark.parametrize("name", LOSING)
def test_a_state_that_is_not_threaded_is_an_error_where_it_would_be_lost(name):
    message = r"(?s)changed its state within.*to fix: threads = True in the class Forgetful"
    with pytest.raises(TypeError, match=message):
        run(Forgetful(), LOSING[name], [array_or_tracer(np.float32(1))])


class Widening(Tally):
    def key(self):
        return Widening

    def process(self, op, args):
        out = super().process(op, args)
        steps = self.at_parent(lax.convert_element_type, self.state["steps"], "float32")
        self.state = {"steps": steps}
        return out


@pytest.mark.parametrize("name", ["scan", "while_loop", "cond"])
def test_a_state_that_changes_its_types_is_named_with_the_leaf(name):
    interpreter = Widening()
    interpreter.state = {"steps": array_or_tracer(np.int32(0))}
    message = r"Widening.*leaf \['steps'\] of the state is i32\[\] before .* and f32\[\] .*astype\('int32'\)"
    with pytest.raises(TypeError, match=f"(?s){message}"):
        run(interpreter, LOSING[name], [array_or_tracer(np.float32(1))])
