"""Named axes: any interpreter may bind one, and collectives over it come to that interpreter."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import stage
from rabbet.extend.primitive import Batched, Primitive
from rabbet.extend.transform import Interpreter, RuleTable, collective, context, run, typeof
from rabbet.primitives import calls
from rabbet.trace import named_axes

add_members = Primitive("total_of_test", lambda x, axis: x, kinds=("linear",), axis="axis")
place_of = Primitive("place_of_test", lambda *, axis: typeof(np.int32(0)), axis="axis")


@add_members.rule("collective")
def total_of_members(op, x):
    return Batched(lax.reduce_sum(x.value, (x.axis,)), None)


@place_of.rule("collective")
def places_of_members(op):
    return Batched(lax.iota(np.int32, 2), 0)


rules = RuleTable("pairs_of_test_axes", doc="(op, *pairs) -> pair")


@rules.kind("elementwise", "structural")
def on_each(op, *pairs):
    return tuple([op(*[p[i] for p in pairs]) for i in range(2)])


class Two(Interpreter):
    """Runs a function for two members at once; a payload is a pair of arrays."""

    table = rules
    bound = (("two", 2),)

    def lift(self, value):
        return value, value

    def type_of(self, pair):
        return typeof(pair[0])

    def collective(self, op, args):
        pairs = [a.payload if getattr(a, "interpreter", None) is self else (a, a) for a in args]
        stacked = [Batched(lax.stack(list(p)), 0) for p in pairs]
        out = collective.lookup(op.primitive)(op, *stacked)
        if out.axis is None:
            return out.value
        return self.wrap(tuple([lax.index_in_dim(out.value, i, out.axis, False) for i in range(2)]))


X, Y = np.arange(3, dtype="f4"), np.arange(3, dtype="f4") * 10


def two(f, *pairs):
    return run(Two(), f, list(pairs))


def test_collectives_reach_the_interpreter_of_their_axis():
    total, index = two(lambda x: (add_members(x, axis="two"), x * 0 + place_of(axis="two")), (X, Y))
    np.testing.assert_array_equal(total[0], X + Y)
    np.testing.assert_array_equal(total[1], X + Y)
    assert [float(i[1]) for i in index] == [0.0, 1.0]


def test_also_where_no_operand_is_its_own():
    assert [int(i) for i in two(lambda x: place_of(axis="two"), (X, Y))] == [0, 1]
    y = rb.device_put(np.float32(3))
    assert float(two(lambda x: add_members(y, axis="two"), (X, Y))[0]) == 6.0


def test_also_from_within_a_program():
    def f(x):
        parts = lambda y: [add_members(y, axis="two"), place_of(axis="two")]
        body = stage(parts, [typeof(np.float32(1))]).jaxpr
        assert named_axes.axes_used_in(body) == {"two"}
        return calls.call_op(body, "inner")(rb.device_put(np.float32(4)))

    total, index = two(f, (X, Y))
    assert (float(total[0]), [int(i) for i in index]) == (8.0, [0, 1])


def test_names_are_known_while_the_function_runs():
    seen = []

    def f(x):
        seen.append(named_axes.bound_axes())
        stage(lambda y: [seen.append(named_axes.bound_axes()) or y], [typeof(x)])
        return x

    two(f, (X, Y))
    assert seen == [(("two", 2),)] * 2
    assert named_axes.bound_axes() == ()
    with pytest.raises(ZeroDivisionError):
        two(lambda x: 1 / 0, (X, Y))
    assert context.axes == ()


def test_names_for_tracing():
    with named_axes.bind_axes([("a", 2)]), named_axes.bind_axes([("b", 3)]):
        assert named_axes.bound_axes() == (("a", 2), ("b", 3))
        with named_axes.bind_axes([("a", 5)]):  # an inner axis hides an outer one of its name
            assert named_axes.bound_axes() == (("b", 3), ("a", 5))
    assert named_axes.bound_axes() == ()


def test_an_interpreter_that_binds_an_axis_must_say_what_it_means():
    class Silent(Two):
        collective = Interpreter.collective

    with pytest.raises(NotImplementedError, match=r"binds the axis 'two': Silent must define collective"):
        run(Silent(), lambda x: add_members(x, axis="two"), [(X, Y)])
