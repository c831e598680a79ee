"""Through bodies: an interpreter that knows nothing of calls goes through them, static parts outside the
program.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.bodies import PLAIN, interpret, put_together, take_apart
from rabbet.extend.passes import check, evaluate, stage
from rabbet.extend.primitive import jit as jit_call
from rabbet.extend.transform import Interpreter, Tracer, payload_of, run, run_traced, typeof
from rabbet.program.avals import ShapedArray

from . import toys
from .toys import Box, Fixed, FixedPoint, enclose, slope

F = ShapedArray((), "float32")
F3 = ShapedArray((3,), "float32")
ONES = np.ones(3, np.float32)


def staged(fn, *avals):
    """The checked program of a function of arrays."""
    return check(stage(lambda *xs: [fn(*xs)], avals))


def the_call(closed):
    """The only jit equation of a program."""
    (eqn,) = [e for e in closed.eqns if e.primitive is jit_call]
    return eqn


def fixed_point(fn, *payloads):
    return run(FixedPoint(), fn, payloads)


# ------------------------------------------------------------------------------------------- taking apart
def test_taking_apart_and_putting_together():
    interpreter = FixedPoint()

    def fn(x):
        leaves, structures = take_apart(interpreter, [x, 5.0, x])
        assert structures[1] is PLAIN and structures[0] == structures[2]
        assert [float(v) for v in leaves] == [12, 5, 12]
        values = put_together(interpreter, structures, leaves)
        assert values[1] == 5.0
        assert type(values[0]) is Tracer and values[0].payload.scale == 2
        return x

    run_traced(interpreter, fn, [Fixed(12, 2)])
    assert repr(PLAIN) == "PLAIN"


# ------------------------------------------------------------------------------------------ through calls
def body(x, y):
    return x * y + x


FUNCTIONS = {
    "once": lambda x: toys.jit(body)(x, 2.0),
    "nested": lambda x: toys.jit(lambda y: toys.jit(body)(y, y))(x),
    "twice": lambda x: toys.jit(body)(x, x) * toys.jit(body)(2.0, x),
    "captured": lambda x: toys.jit(lambda y: y * x + x)(x + 1.0),
    "plain argument": lambda x: toys.jit(body)(2.0, 3.0) + x,
    "several results": lambda x: sum(toys.jit(lambda y: (y, y * 2.0, 1.0))(x)),
}


@pytest.mark.parametrize("fn", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_call_means_what_its_body_means(fn, monkeypatch):
    inlined = {}
    for transformed, arg in ((enclose, (0.5, 2.0)), (slope, 1.5)):
        through = transformed(fn)(arg)
        with monkeypatch.context() as patch:
            patch.setattr(toys, "jit", lambda f: f)
            inlined = transformed(fn)(arg)
        np.testing.assert_allclose(np.asarray(through), np.asarray(inlined), rtol=1e-6)


@pytest.mark.parametrize("fn", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.narrow
def test_programs_that_come_of_it_are_well_typed(fn):
    closed = staged(lambda a, b: enclose(fn)((a, b)).hi, F, F)
    assert any(e.primitive is jit_call for e in closed.eqns)
    rate = staged(slope(fn), F)
    assert float(evaluate(rate.jaxpr, [1.5], rate.consts)[0]) == pytest.approx(float(slope(fn)(1.5)))


def test_the_call_stays_a_call_with_payloads_flattened():
    closed = staged(lambda a, b: enclose(toys.jit(body))((a, b), (b, b)).lo, F, F)
    eqn = the_call(closed)
    assert len(eqn.inputs) == 4 and len(eqn.outputs) == 2
    assert eqn.params["name"] == "body"


def test_plain_arguments_pass_as_they_are():
    """A value that the interpreter never touched is one leaf, not a box of it twice."""
    closed = staged(lambda a, b: enclose(lambda x: toys.jit(body)(x, 2.0))((a, b)).lo, F, F)
    assert len(the_call(closed).inputs) == 3


def test_outputs_that_were_never_touched_come_back_plain():
    kept = []

    def fn(x):
        kept.append(toys.jit(lambda y: (y, lax.sin(1.0)))(x)[1])
        return x

    enclose(fn)((1.0, 2.0))
    assert not isinstance(kept[0], Tracer)
    assert float(kept[0]) == pytest.approx(np.sin(1.0))


def test_bodies_without_transformed_arguments_run_below():
    seen = []

    def fn(x):
        seen.append(toys.jit(body)(2.0, 3.0))
        return x

    enclose(fn)((1.0, 2.0))
    assert type(seen[0]) is rb.Array and float(seen[0]) == 8.0


# ------------------------------------------------------------------------------------------- static parts
def test_static_parts_go_in_and_come_out():
    x, y = Fixed(3, 1), Fixed(5, 2)  # 1.5 and 1.25
    out = fixed_point(toys.jit(lambda a, b: a * b + a), x, y)
    assert out.scale == 3 and int(out.digits) == 27  # 3.375


def test_programs_are_interpreted_once_per_static_part():
    traced = []

    class Watching(FixedPoint):
        def fresh(self):
            traced.append(1)
            return super().fresh()

    call = toys.jit(lambda a, b: a + b)
    program = stage(lambda a, b: [call(a, b)], [ShapedArray((), "int32")] * 2)

    def both(*payloads):
        return run(Watching(), lambda a, b: evaluate(program.jaxpr, [a, b])[0], payloads)

    assert int(both(Fixed(1, 0), Fixed(2, 0)).digits) == 3
    int(both(Fixed(4, 0), Fixed(2, 0)).digits)
    assert len(traced) == 1
    assert both(Fixed(1, 3), Fixed(2, 0)).scale == 3
    assert len(traced) == 2
    both(Fixed(5, 3), Fixed(7, 0))
    assert len(traced) == 2


def test_interpreters_with_settings_share_bodies_only_if_they_say_how():
    fresh = []

    class Scaled(toys.Enclose):
        def __init__(self, factor):
            self.factor = factor

        def fresh(self):
            fresh.append(self.factor)
            return super().fresh()

    class Keyed(Scaled):
        def key(self):
            return type(self), self.factor

    program = stage(lambda x: [toys.jit(lambda y: y * y)(x)], [F])

    def times(cls, *factors):
        fresh.clear()
        for factor in factors:
            run(cls(factor), lambda x: evaluate(program.jaxpr, [x])[0], [Box(1.0, 2.0)])
        return fresh

    assert times(Scaled, 1, 1, 2) == [1, 1, 2]
    assert times(Keyed, 1, 1, 2, 2) == [1, 2]


def test_a_fresh_copy_keeps_settings():
    class Shifted(toys.Enclose):
        def __init__(self, by):
            self.by = by

        def lift(self, value):
            return Box(value - self.by, value + self.by)

    fn = toys.jit(lambda x: x + 1.0)
    assert [float(v) for v in run(Shifted(0.5), fn, [Box(0.0, 0.0)])] == [0.5, 1.5]


# ---------------------------------------------------------------------------------------- captured values
def test_constants_inside_a_body_are_captured_once_and_passed():
    table = rb.device_put(np.float32([1, 2, 3]))
    closed = staged(lambda a, b: enclose(toys.jit(lambda x: x * table))((a, b)).hi, F3, F3)
    assert [id(c) for c in closed.consts] == [id(table)]
    assert the_call(closed).params["jaxpr"].constvars == []


def test_interpreting_a_body_that_meets_new_arrays_is_not_kept():
    class Tabled(toys.Enclose):
        def __init__(self):
            self.table_of_ones = rb.device_put(ONES)

        def lift(self, value):
            return Box(value, value)

    # lift itself brings no arrays, so the body is shared by key only if the interpreter says so
    jaxpr = staged(lambda x: x * 2.0, F3).jaxpr
    treedef = rb.tree.structure(Box(0, 0))
    one = interpret(toys.Enclose(), jaxpr, (treedef,), [F3, F3])
    two = interpret(toys.Enclose(), jaxpr, (treedef,), [F3, F3])
    assert one[0] is two[0] and one[2] == []
    assert interpret(Tabled(), jaxpr, (treedef,), [F3, F3])[0] is not one[0]


def test_a_rule_that_brings_an_array_is_passed_what_it_captured():
    array = rb.device_put(np.float32([10, 20, 30]))
    table = rb.extend.transform.RuleTable("offset of test_bodies")

    @table.primitive(lax.neg)
    def neg(op, x):
        return Box(x.lo - array, x.hi + array)

    class Offset(toys.Enclose):
        pass

    Offset.table = table
    for _ in range(2):
        out = run(Offset(), toys.jit(lax.neg), [Box(ONES, ONES)])
        assert out.hi.tolist() == [11, 21, 31]


# -------------------------------------------------------------------------------- other levels and errors
def test_two_interpreters_through_one_call():
    fn = lambda x: toys.jit(lambda y: y * y)(x)
    inner = lambda x: slope(fn)(x)
    assert [float(v) for v in enclose(inner)((1.0, 2.0))] == [2.0, 4.0]
    assert float(slope(slope(lambda x: fn(x) * x))(2.0)) == 12.0


def test_an_error_in_a_body_leaves_nothing_behind():
    program = stage(lambda x: [toys.jit(lax.exp2)(x)], [F])

    class Failing(toys.Enclose):
        def type_of(self, box):
            if isinstance(box.lo, Tracer):
                raise KeyError("mine")
            return typeof(box.lo)

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            run(Failing(), lambda x: evaluate(program.jaxpr, [x])[0], [Box(1.0, 2.0)])
    assert float(enclose(lambda x: evaluate(program.jaxpr, [x])[0])((1.0, 2.0)).hi) == 4.0


def test_arguments_of_another_type_than_it_was_traced_for():
    closed = staged(toys.jit(lambda x: x * 2.0), F3)
    with pytest.raises(TypeError, match=r"jit of '<lambda>' was traced for f32\[3\], got f32\[4\]"):
        evaluate(closed.jaxpr, [np.ones(4, np.float32)])
    with pytest.raises(TypeError, match=r"got i32\[3\]"):
        evaluate(closed.jaxpr, [np.ones(3, np.int32)])


# ------------------------------------------------------------------------------------------------ no body
class Uncopied(Interpreter):
    table = toys.boxes

    def fresh(self):
        raise AssertionError("no body here")


def test_no_copy_is_made_where_there_is_no_body():
    class Plain(toys.Enclose, Uncopied):
        pass

    assert float(run(Plain(), lambda x: x + 1.0, [Box(1.0, 2.0)]).hi) == 3.0


# --------------------------------------------------------------------------------------------- predicates
def by_sign(negative, x):
    return lax.cond(negative, lambda x: -x, lambda x: x * x, x)


def either():
    return Box(toys.array(False), toys.array(True))


class Undecided(toys.Enclose):
    """Takes both branches where the predicate may be both."""

    def predicate(self, op, args):
        _, *operands = args
        outcomes = [evaluate(branch, operands) for branch in op.params["branches"]]
        return [self.at_parent(self.hull, *pair) for pair in zip(*outcomes, strict=True)]

    def hull(self, x, y):
        a, b = payload_of(self, x), payload_of(self, y)
        return self.wrap(Box(lax.min(a.lo, b.lo), lax.max(a.hi, b.hi)))


@pytest.mark.parametrize("within", [lambda f: f, toys.jit])
def test_a_predicate_that_was_transformed(within):
    with pytest.raises(TypeError, match=r"'cond' is decided by a value of type bool\[\] that depends on"):
        enclose(within(by_sign))(either(), (2.0, 3.0))
    assert [float(v) for v in run(Undecided(), within(by_sign), [either(), Box(2.0, 3.0)])] == [-3.0, 9.0]
