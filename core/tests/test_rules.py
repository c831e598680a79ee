"""Rule tables: the steps of the lookup in their order, who wins, and what is said where nothing is
found.
"""

import sys

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
    counting = RuleTable("counting", bridges=lambda name: calls.append(name) or ())
    p = primitive("memo", kinds=("linear",))
    counting.kind("linear")(rule("linear"))
    first = counting.lookup(p)
    assert counting.lookup(p) is first
    assert calls == ["counting"]
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


# ------------------------------------------------------------------------------- rules announced by name
@pytest.fixture
def announcing(tmp_path, monkeypatch):
    """Writes a module of rules and returns its name; importing it is noted in its text alone."""
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def write(**rules):
        name = f"announced_{len(made)}_of_test_rules"
        lines = [f"def {rule}(op, *x): return {answer!r}" for rule, answer in rules.items()]
        (tmp_path / f"{name}.py").write_text("\n".join(lines))
        made.append(name)
        return name

    yield write
    for name in made:
        sys.modules.pop(name, None)


def test_a_bridge_may_announce_its_rules(table, sets, announcing):
    p = primitive("announced")
    bridge = RuleSet("wanted")
    module = announcing(announced_of_test_rules="by name")
    bridge.later(module, p.name, owner=p.__module__)
    sets.append(bridge)
    assert module not in sys.modules
    assert table.lookup(p)(None) == "by name"
    assert found(table, p) == ("bridge", "")


def test_announced_rules_are_for_primitives_of_the_package_that_is_named(announcing):
    module = announcing(owned_of_test_rules="mine", sin="core's")
    rules = RuleSet("lower")
    rules.later(module, "owned_of_test_rules", owner="some.package")
    rules.later(module, "sin")
    p = primitive("owned")
    assert rules.find(p) is None
    assert rules.find(lax.cos) is None
    assert module not in sys.modules
    assert rules.find(lax.sin)(None) == "core's"
    p.__module__ = "some.package.inside"
    assert rules.find(p)(None) == "mine"
    q = primitive("owned_too")
    q.__module__ = "some.packaged"  # begins like it and is another
    rules.later(module, q.name, owner="some.package")
    assert rules.find(q) is None


def test_announced_rules_may_be_for_one_platform(table, sets, announcing):
    p = primitive("on_one")
    bridge = RuleSet("wanted")
    bridge.later(announcing(on_one_of_test_rules="cuda"), p.name, owner=p.__module__, platform="cuda")
    sets.append(bridge)
    assert found(table, p, "cpu") is None
    assert table.lookup(p, "cuda")(None) == "cuda"


def test_a_set_prefers_the_rule_of_the_platform():
    p = primitive("preferred")
    rules = RuleSet("lower")
    rules.primitive(p)(rule("any"))
    rules.primitive(p, platform="cuda")(rule("cuda"))
    assert rules.find(p, "cuda")(None) == "cuda"
    assert rules.find(p, "cpu")(None) == "any"
    assert rules.find(p)(None) == "any"


def test_two_announced_rules_are_a_conflict_that_names_both_modules(announcing):
    rules = RuleSet("lower")
    rules.later("first.rules", "twice", owner="some.package")
    with pytest.raises(RuleConflict, match=r"'twice' of some.package, in first.rules; .*in second.rules"):
        rules.later("second.rules", "once", "twice", owner="some.package.inside")
    assert rules.names() == ["twice"]
    rules.later("second.rules", "twice", owner="another")
    rules.later("second.rules", "twice", owner="some.package", platform="cuda")
    p = primitive("announced_and_written")
    rules.later("third.rules", p.name, owner=p.__module__)
    with pytest.raises(RuleConflict, match=r"in third.rules; a second one stands at .*test_rules.py"):
        rules.primitive(p)(rule("written"))
    q = primitive("written_and_announced")
    rules.primitive(q)(rule("written"))
    with pytest.raises(RuleConflict, match=r"at .*test_rules.py:\d+; .* announced in fourth.rules"):
        rules.later("fourth.rules", q.name, owner=q.__module__)


# ------------------------------------------------------------------------------------- one name, one thing
def test_a_second_table_of_one_name_is_a_conflict_that_shows_both_places(table):
    with pytest.raises(RuleConflict) as caught:
        RuleTable("wanted")
    assert "there is already a rule table 'wanted', made at" in str(caught.value)
    assert str(caught.value).count("test_rules.py:") == 2
    assert tables.all_tables()["wanted"] is table


def test_a_table_that_is_gone_gives_its_name_free():
    first = RuleTable("short_lived")
    first.itself = first  # so that it is cleared away later
    del first
    assert RuleTable("short_lived").name == "short_lived"


def test_rules_cannot_be_taken_out_past_the_check_for_conflicts(table):
    p = primitive("kept")
    p.rule("wanted")(rule("beside"))
    table.kind("linear")(rule("linear"))
    table.primitive(p)(rule("own"))
    for mapping in (p.rules, lax.sign.rules, table.by_kind, table.by_primitive):
        assert not hasattr(mapping, "clear") and not hasattr(mapping, "pop")
        with pytest.raises(TypeError):
            mapping["wanted"] = rule("put past it")


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
    assert first == "no 'enclose' rule for primitive 'sin' (kinds: finite_slope, elementwise)"
    assert called.startswith("  called at ") and "test_rules.py:" in called
    assert owner.startswith("  primitive 'sin' of rabbet-core ") and "elementwise.py:" in owner
    assert table.startswith("  table 'enclose' of rabbet-testing ") and "toys.py:" in table
    assert table.endswith("its rules by kind serve: increasing, structural, decreasing")
    assert "@rabbet.extend.primitive.sin.rule('enclose')" in fix and "docs/extend.md#" in fix
    assert "@rules.primitive(rabbet.extend.primitive.sin)" in fix


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
    assert first == "no 'enclose' rule for primitive 'cos' (kinds: finite_slope, elementwise)"
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
    assert repr(RuleSet("batch")) == "RuleSet('batch', 0 rules, 0 announced)"
    assert {"lower", "jvp", "transpose", "batch"} <= set(tables.all_tables())
    assert table.where.file.endswith("test_rules.py")
