"""Rule tables: the steps of the lookup in their order, who wins, and what is said where nothing is
found.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import MissingRule, RuleConflict
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import Interpreter, RuleSet, RuleTable, run, typeof
from rabbet.rules import tables

from . import toys


def same(*avals, **params):
    return avals[0]


def primitive(name, **how):
    return Primitive(f"{name}_of_test_rules", same, **how)


def rule(text):
    """A rule that is recognised by what it returns."""
    return lambda op, *args: text


@pytest.fixture
def sets():
    """The bridges of the table under test; a test appends to it."""
    return []


@pytest.fixture
def table(sets):
    return RuleTable(
        "wanted", doc="(op, *payloads) -> payload", bridges=lambda name: [s for s in sets if s.name == name]
    )


def found(table, p, platform=None):
    hit = table.explain(p, platform)
    return hit and (hit.source, hit.detail)


# ---------------------------------------------------------------------------------------------- the steps
def test_each_step_wins_over_those_below_it(table, sets):
    p = primitive("all_steps", kinds=("linear", "elementwise"))
    assert found(table, p) is None

    table.otherwise(rule("otherwise"))
    assert found(table, p) == ("otherwise", "")

    p.decompose(rule("parts"))
    assert found(table, p) == ("decomposition", "")

    model = RuleTable("model_of_test_rules")
    table.derived_from(model)(rule("derived"))
    assert found(table, p) == ("decomposition", "")
    model.primitive(p)(rule("model"))
    assert found(table, p) == ("derived", "model_of_test_rules")

    table.kind("elementwise")(rule("elementwise"))
    assert found(table, p) == ("kind", "elementwise")

    p.rule("body")(rule("body"))
    assert found(table, p) == ("body", "")

    bridge = RuleSet("wanted")
    bridge.primitive(p)(rule("bridge"))
    sets.append(bridge)
    assert found(table, p) == ("bridge", "")
    assert table.explain(p).rule(None) == "bridge"

    table.primitive(p)(rule("table"))
    assert found(table, p) == ("table", "")

    p.rule("wanted")(rule("owner"))
    assert found(table, p) == ("owner", "")
    assert table.lookup(p)(None) == "owner"


def test_the_first_kind_of_the_primitive_that_has_a_rule_serves(table):
    table.kind("elementwise")(rule("elementwise"))
    table.kind("linear")(rule("linear"))
    assert found(table, primitive("ab", kinds=("linear", "elementwise"))) == ("kind", "linear")
    assert found(table, primitive("ba", kinds=("elementwise", "linear"))) == ("kind", "elementwise")
    assert found(table, primitive("b", kinds=("bilinear", "elementwise"))) == ("kind", "elementwise")
    assert found(table, primitive("none", kinds=("reduction",))) is None


def test_one_function_may_serve_several_primitives_and_kinds(table):
    p, q = primitive("p"), primitive("q")
    function = rule("both")
    assert table.primitive(p, q)(function) is function
    assert table.kind("linear", "structural")(function) is function
    assert (
        table.lookup(p) is table.lookup(q) is table.lookup(primitive("r", kinds=("structural",))) is function
    )


def test_bridges_for_other_tables_and_primitives_are_not_taken(table, sets):
    p = primitive("bridged")
    for name, of in (("other", p), ("wanted", primitive("unrelated"))):
        bridge = RuleSet(name)
        bridge.primitive(of)(rule("no"))
        sets.append(bridge)
    assert found(table, p) is None


# ---------------------------------------------------------------------------------------------- platforms
def test_a_platform_comes_first_at_every_step(table, sets):
    p = primitive("by_platform")
    bridge = RuleSet("wanted")
    bridge.primitive(p, platform="cuda")(rule("bridge for cuda"))
    sets.append(bridge)
    p.rule("wanted")(rule("owner"))
    assert found(table, p) == ("owner", "")
    assert found(table, p, "cpu") == ("owner", "")
    assert found(table, p, "cuda") == ("bridge", "")

    table.primitive(p, platform="cuda")(rule("table for cuda"))
    assert found(table, p, "cuda") == ("table", "cuda")

    p.rule("wanted:cuda")(rule("owner for cuda"))
    assert found(table, p, "cuda") == ("owner", "cuda")
    assert found(table, p, "cpu") == ("owner", "")


def test_lookups_of_two_platforms_are_remembered_apart(table):
    p = primitive("remembered_apart")
    p.rule("wanted")(rule("any"))
    p.rule("wanted:cuda")(rule("cuda"))
    for _ in range(2):
        assert table.lookup(p, "cuda")(None) == "cuda"
        assert table.lookup(p)(None) == "any"
        assert table.lookup(p, "cpu")(None) == "any"


# ---------------------------------------------------------------------------------- memory and late rules
def test_a_lookup_is_remembered(table, sets):
    calls = []
    counting = RuleTable("wanted", bridges=lambda name: calls.append(name) or ())
    p = primitive("memo", kinds=("linear",))
    counting.kind("linear")(rule("linear"))
    first = counting.lookup(p)
    assert counting.lookup(p) is first
    assert calls == ["wanted"]
    counting.forget()
    counting.lookup(p)
    assert len(calls) == 2


def test_a_rule_that_comes_after_a_failed_lookup_is_found(table):
    p = primitive("late")
    with pytest.raises(MissingRule):
        table.lookup(p)
    p.rule("wanted")(rule("late"))
    assert table.lookup(p)(None) == "late"


def test_a_rule_written_after_a_lookup_takes_its_place(table):
    """In a notebook one calls, looks, and then writes the better rule."""
    p = primitive("better", kinds=("linear",))
    table.kind("linear")(rule("by kind"))
    assert table.lookup(p)(None) == "by kind"
    table.primitive(p)(rule("table"))
    assert table.lookup(p)(None) == "table"
    p.rule("wanted")(rule("owner"))
    assert table.lookup(p)(None) == "owner"


# ---------------------------------------------------------------------------------------------- conflicts
def test_two_rules_in_a_table_are_a_conflict_that_shows_both_addresses(table):
    p = primitive("twice")
    first, second = rule("first"), rule("second")
    table.primitive(p)(first)
    with pytest.raises(RuleConflict) as caught:
        table.primitive(p)(second)
    assert "already has a rule for primitive 'twice_of_test_rules'" in str(caught.value)
    assert str(caught.value).count("test_rules.py:") == 2
    assert table.lookup(p) is first


def test_two_rules_for_a_kind_are_a_conflict(table):
    table.kind("linear")(rule("first"))
    with pytest.raises(RuleConflict, match=r"already has a rule for kind 'linear' at .*test_rules.py:"):
        table.kind("linear")(rule("second"))


def test_two_ways_to_derive_rules_are_a_conflict(table):
    table.derived_from(table)(rule("first"))
    with pytest.raises(RuleConflict, match="already derives rules from those of RuleTable"):
        table.derived_from(table)(rule("second"))


def test_two_rules_for_all_that_is_left_are_a_conflict(table):
    table.otherwise(rule("first"))
    with pytest.raises(RuleConflict, match="already has a rule for all other primitives"):
        table.otherwise(rule("second"))


def test_a_refused_rule_leaves_no_trace(table):
    p, q = primitive("left"), primitive("right")
    table.primitive(q)(rule("first"))
    with pytest.raises(RuleConflict):
        table.primitive(p, q)(rule("both"))
    assert found(table, p) is None
    with pytest.raises(RuleConflict):
        table.kind("bilinear", "linear", "bilinear")(rule("the same kind twice"))
        table.kind("linear")(rule("again"))


def test_two_bridges_for_one_primitive_are_a_conflict_that_shows_both(table, sets):
    p = primitive("contested")
    for text in ("one", "two"):
        bridge = RuleSet("wanted")
        bridge.primitive(p)(rule(text))
        sets.append(bridge)
    with pytest.raises(RuleConflict) as caught:
        table.lookup(p)
    assert "two packages bring a 'wanted' rule for primitive 'contested_of_test_rules'" in str(caught.value)
    assert "RABBET_DISABLE_PLUGINS" in str(caught.value)
    p.rule("wanted")(rule("the owner decides"))
    assert table.lookup(p)(None) == "the owner decides"


def test_an_unknown_kind_in_a_table_is_refused_with_the_list(table):
    with pytest.raises(ValueError, match=r"unknown kinds? .*'increasingly'.*elementwise, increasing"):
        table.kind("increasingly")(rule("typing error"))


def test_a_rule_for_what_is_no_primitive_is_refused(table):
    with pytest.raises(TypeError, match="function"):
        table.primitive(lambda x: x)(rule("not a primitive"))


# -------------------------------------------------------------------------------------------- the message
class Reluctant(Interpreter):
    """A table with a rule for mul only, which is written with min."""

    table = RuleTable("reluctant")

    def lift(self, value):
        return value

    def type_of(self, payload):
        return typeof(payload)


@Reluctant.table.primitive(lax.mul)
def mul_by_parts(op, x, y):
    return lax.cos(x)


def lines_of(caught):
    return str(caught.value).splitlines()


def test_the_message_names_the_primitive_its_kinds_both_places_and_what_to_write():
    with pytest.raises(MissingRule) as caught:
        toys.enclose(lambda x: lax.sin(x))((0.0, 1.0))
    first, called, owner, table, fix = lines_of(caught)
    assert first == "no 'enclose' rule for primitive 'sin' (kinds: elementwise)"
    assert called.startswith("  called at ") and "test_rules.py:" in called
    assert owner.startswith("  primitive 'sin' of rabbet-core ") and "elementwise.py:" in owner
    assert table.startswith("  table 'enclose' is defined at ") and "toys.py:" in table
    assert table.endswith("its rules by kind serve: increasing, structural, decreasing")
    assert "@sin.rule('enclose')" in fix and "@rules.primitive(sin)" in fix and "docs/extend.md#" in fix


def test_the_line_of_the_call_is_exact():
    def fn(x):
        y = lax.neg(x)
        return lax.sin(y)  # this line

    with pytest.raises(MissingRule) as caught:
        toys.enclose(fn)((0.0, 1.0))
    assert f"test_rules.py:{fn.__code__.co_firstlineno + 2}" in lines_of(caught)[1]


def test_the_message_shows_by_which_rule_it_was_reached():
    def fn(x):
        return lax.mul(x, x)

    with pytest.raises(MissingRule) as caught:
        toys.enclose(lambda x: run(Reluctant(), fn, [x]))((0.0, 1.0))
    first, reached, called, *_ = lines_of(caught)
    assert first == "no 'enclose' rule for primitive 'cos' (kinds: elementwise)"
    assert reached.startswith("  reached from the 'reluctant' rule for 'mul' (")
    assert f"test_rules.py:{mul_by_parts.__code__.co_firstlineno}" in reached
    assert f"test_rules.py:{fn.__code__.co_firstlineno + 1}" in called


def test_a_chain_of_rules_is_shown_innermost_first():
    with pytest.raises(MissingRule) as caught:
        toys.enclose(lambda x: run(Reluctant(), lambda y: run(Nested(), lambda z: lax.mul(z, z), [y]), [x]))(
            (0.0, 1.0)
        )
    reached = [line for line in lines_of(caught) if "reached from" in line]
    assert [line.split("(")[0].strip() for line in reached] == [
        "reached from the 'reluctant' rule for 'mul'", "reached from the 'nested' rule for 'mul'",
    ]  # fmt: skip
    assert sum("called at" in line for line in lines_of(caught)) == 1


class Nested(Reluctant):
    table = RuleTable("nested")


@Nested.table.primitive(lax.mul)
def mul_below(op, x, y):
    return op(x, y)


def test_the_way_through_a_body_is_shown_with_the_inner_line():
    def body(x):
        return lax.sin(x)

    with pytest.raises(MissingRule) as caught:
        toys.enclose(toys.jit(body))((0.0, 1.0))
    text = str(caught.value)
    assert "reached from the body of 'jit'" in text
    assert text.count("called at") == 1
    assert f"test_rules.py:{body.__code__.co_firstlineno + 1}" in text


def test_the_way_through_a_decomposition_is_shown():
    p = primitive("decomposed")

    @p.decompose
    def parts(op, x):
        return lax.sin(x)

    with pytest.raises(MissingRule) as caught:
        toys.enclose(p)((0.0, 1.0))
    reached = lines_of(caught)[1]
    assert "reached from the decomposition of 'decomposed_of_test_rules'" in reached
    assert f"test_rules.py:{parts.__code__.co_firstlineno}" in reached


def test_a_primitive_without_lowering_is_named_with_the_users_line():
    p = primitive("without_lowering")

    def fn(x):
        return p(x)

    with pytest.raises(MissingRule) as caught:
        fn(rb.device_put(np.float32([1, 2])))
    text = str(caught.value)
    assert "no 'lower' rule for primitive 'without_lowering_of_test_rules' (kinds: none)" in text
    assert f"test_rules.py:{fn.__code__.co_firstlineno + 1}" in text


def test_tables_and_sets_say_what_they_are(table):
    assert repr(table) == "RuleTable('wanted')"
    assert table.__doc__ == "(op, *payloads) -> payload"
    assert repr(RuleSet("batch")) == "RuleSet('batch', 0 rules)"
    assert {"lower", "jvp", "transpose", "batch"} <= set(tables.all_tables())
    assert table.where.file.endswith("test_rules.py")
