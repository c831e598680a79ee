"""custom_rules with core alone: strangers' transformations go through such functions or have a say."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.transform import run
from rabbet.testing import toys
from rabbet.testing.toys import Box, enclose, slope
from rabbet_custom_rules import CustomRule, PayloadRule, call_with_rules, decorator, rule_on_payloads


# --------------------------------------------------------------------------------------------- custom_rules
def test_a_rule_for_a_strangers_table():
    @rb.custom_rules
    def f(p, y):
        return {"out": lax.mul(lax.sin(p["x"]), y), "same": y}

    @f.def_rule("enclose")
    def f_enclose(p, y):
        most = lax.max(lax.abs(y.lo), lax.abs(y.hi))
        return {"out": Box(lax.neg(most), most), "same": y}

    for through in (lambda g: g, toys.jit):
        assert enclose(through(lambda x: f({"x": x}, 3.0)["out"]))((0.0, 1.0)) == Box(-3.0, 3.0)
        assert enclose(through(lambda x: f({"x": x}, x)["same"]))((0.0, 1.0)) == Box(0.0, 1.0)
    assert float(f({"x": 0.5}, 3.0)["out"]) == pytest.approx(3 * np.sin(0.5))
    assert float(slope(lambda x: f({"x": x}, 3.0)["out"])(0.5)) == pytest.approx(3 * np.cos(0.5))


def test_an_output_that_a_rule_gives_as_an_array_is_lifted():
    f = rb.custom_rules(lambda x: (x, lax.sin(x)))
    f.def_rule("enclose", lambda box: (lax.full_like(box.lo, 7.0), box))
    assert enclose(lambda x: f(x)[0])((0.0, 1.0)) == Box(7.0, 7.0)


def test_the_function_does_not_run_where_its_rule_does():
    @rb.custom_rules
    def f(x):
        raise AssertionError("not this way")

    f.def_rule("enclose", lambda box: box)
    assert enclose(f)((0.0, 1.0)) == Box(0.0, 1.0)


def sine_with(rules):
    return lambda x: call_with_rules(lambda x: [lax.sin(x)], rules, [x], "f")[0]


class Widened(CustomRule):
    """A rule that serves another table's interpreter, and survives it where it is told to."""

    def __init__(self, table, scale=1.0):
        self.table, self.scale = table, scale

    def serves(self, interpreter):
        return interpreter.table is self.table

    def apply(self, interpreter, rules, args, name, wanted):
        return [interpreter.wrap(Box(lax.neg(self.scale), lax.full_like(a, self.scale))) for a in args]


def test_who_owns_a_table_says_how_its_rules_are_made(monkeypatch):
    made = []

    def maker(call, rule):
        made.append(rule)
        return PayloadRule(rule_on_payloads(call, "enclose", lambda box: rule(box, 2.0)))

    finders = {"enclose": maker, "absent": lambda call, rule: None}
    monkeypatch.setattr(decorator, "find_maker", finders.get)
    f = rb.custom_rules(lambda x: lax.sin(x))
    rule = f.def_rule("enclose", lambda box, scale: Box(lax.neg(scale), lax.full_like(box.hi, scale)))
    f.def_rule("absent", lambda *_: pytest.fail("nobody uses it"))
    assert enclose(f)((0.0, 1.0)) == Box(-2.0, 2.0)
    assert set(made) == {rule}


def test_a_rule_serves_whom_it_says():
    f = sine_with({"elsewhere": Widened(toys.boxes, 5.0)})
    assert enclose(f)((0.0, 1.0)) == Box(-5.0, 5.0)
    assert enclose(toys.jit(f))((0.0, 1.0)) == Box(-5.0, 5.0)
    assert float(slope(f)(0.5)) == pytest.approx(np.cos(0.5))


class Tagged(CustomRule):
    """A rule for boxes that survives slopes: the box of a rate is asked for like that of a value."""

    def __init__(self, seen):
        self.seen = seen

    def survives(self, interpreter):
        return interpreter.table is toys.slopes

    def under(self, passage):
        known = passage.last - passage.first
        self.seen.append((len(passage.inputs), len(passage.outputs), passage.name, known))
        return self

    def apply(self, interpreter, rules, args, name, wanted):
        return [interpreter.wrap(Box(lax.full_like(a, -1.0), lax.full_like(a, 1.0))) for a in args]


def test_a_rule_survives_what_it_says():
    seen = []
    f = sine_with({"enclose": Tagged(seen)})
    both = lambda x: run(toys.Differentiate(), f, [toys.Slope(x, x)])
    boxed = run(toys.Enclose(), lambda x: list(both(x)), [Box(0.0, 1.0)])
    assert [tuple(map(float, box)) for box in boxed] == [(-1.0, 1.0), (-1.0, 1.0)]
    assert seen == [(1, 1, "f", 2)]


def test_a_rule_that_says_too_little_says_what_to_define():
    f = sine_with({"enclose": CustomRule()})
    with pytest.raises(NotImplementedError, match="CustomRule must say how it is applied: define apply"):
        enclose(f)((0.0, 1.0))


# ---------------------------------------------------------------------- rules of a function for any table
def clipped(x):
    """A function with a rule for intervals; ``seen`` lists who asked."""
    seen = []

    def function(y):
        seen.append("function")
        return [lax.sin(y)]

    def rule(interpreter, payloads):
        seen.append("rule")
        (box,) = payloads
        return [Box(lax.full_like(box.lo, -1.0), lax.full_like(box.hi, 1.0))]

    (out,) = call_with_rules(function, {"enclose": PayloadRule(rule)}, [x], "clipped")
    return out, seen


def test_a_function_may_say_how_a_strangers_table_treats_it():
    box = enclose(lambda x: clipped(x)[0] * 2.0)((0.0, 100.0))
    assert [float(v) for v in box] == [-2.0, 2.0]


def test_with_such_a_rule_the_function_itself_does_not_run():
    seen = []

    def fn(x):
        out, asked = clipped(x)
        seen.extend(asked)
        return out

    enclose(fn)((0.0, 1.0))
    assert seen == ["rule"]


def test_other_tables_and_evaluation_go_through_the_function():
    assert float(clipped(0.5)[0]) == pytest.approx(np.sin(0.5))
    assert float(slope(lambda x: clipped(x)[0])(0.5)) == pytest.approx(np.cos(0.5))


def test_the_rule_is_found_inside_a_call_and_under_other_levels():
    fn = toys.jit(lambda x: clipped(x)[0])
    assert [float(v) for v in enclose(fn)((0.0, 100.0))] == [-1.0, 1.0]
    assert float(fn(0.5)) == pytest.approx(np.sin(0.5))
    doubled = enclose(lambda x: enclose(fn)((x, x)).lo)
    assert [float(v) for v in doubled((0.0, 100.0))] == [-1.0, -1.0]


def test_names_of_static_arguments_are_texts():
    with pytest.raises(TypeError, match="nondiff_argnames must be names, got 7"):
        rb.custom_rules(lambda x: x, nondiff_argnames=(7, 9))


def test_positions_of_static_arguments_are_whole_numbers_among_the_arguments():
    with pytest.raises(TypeError, match=r"nondiff_argnums must be an integer, got float 1\.0"):
        rb.custom_rules(lambda x: x, nondiff_argnums=(1.0,))
    for outside in (7, (-5,)):
        f = rb.custom_rules(lambda x, n: lax.mul(x, n), nondiff_argnums=outside)
        f.def_rule("enclose")(lambda n, x: x)
        with pytest.raises(
            IndexError, match=r"called with 2 arguments, and nondiff_argnums lists .*\[(7|-5)\]"
        ):
            enclose(lambda x, f=f: f(x, 2.0))((0.0, 1.0))
