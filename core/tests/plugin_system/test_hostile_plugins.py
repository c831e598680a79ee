"""Plugins that do their worst: raise what is no Exception, cannot be printed or looked at, change what they
are lent, take names of core's. They are left out or named, and everybody else goes on.
"""

import sys
import traceback
import types
import warnings

import numpy as np
import pytest
import rabbet as rb
from rabbet import composition, config, lax
from rabbet.errors import PluginError, PluginWarning, RuleConflict
from rabbet.extend.backend import Backend
from rabbet.extend.dtype import DTypeSpec
from rabbet.extend.hooks import hookimpl
from rabbet.extend.passes import Jaxpr, Pass, PassContext, stage
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import Interpreter, RuleSet, RuleTable, run
from rabbet.passes import pipeline
from rabbet.plugins import discovery
from rabbet.plugins.hooks import Hooks
from rabbet.plugins.validation import CHECKS

from .fakes import MODULE, manager, offer


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no words")


class Untouchable:
    def __getattribute__(self, name):
        raise RuntimeError("hands off")


@pytest.mark.parametrize("group", sorted(set(CHECKS) - {"rabbet.api"}))
@pytest.mark.parametrize("make", [Unprintable, Untouchable])
def test_an_object_that_cannot_be_printed_or_looked_at_is_left_out(objects, group, make):
    objects.thing = make()
    plugins = manager(*offer("rabbet-hostile", group, thing=f"{MODULE}:thing"))
    with pytest.warns(PluginWarning, match=r"(?s)'thing' .* comes from rabbet-hostile 1\.0"):
        assert plugins.objects(group) == []
    assert [record.status for record in plugins.load_all()] == ["invalid"]


@pytest.mark.parametrize("base", ["BaseException", "SystemExit"])
def test_an_import_that_raises_what_is_no_exception(tmp_path, monkeypatch, base):
    module = f"rabbet_ends_{base.lower()}"
    (tmp_path / f"{module}.py").write_text(f"class End({base}): pass\nraise End('the end')\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins = manager(*offer("rabbet-ends", "rabbet.passes", ends=f"{module}:PASS"))
    with pytest.warns(PluginWarning, match="End: the end"):
        assert plugins.objects("rabbet.passes") == []


def test_ctrl_c_while_a_plugin_is_imported_is_the_users(tmp_path, monkeypatch):
    (tmp_path / "rabbet_slow_of_tests.py").write_text("raise KeyboardInterrupt")
    monkeypatch.syspath_prepend(tmp_path)
    plugins = manager(*offer("rabbet-slow", "rabbet.passes", slow="rabbet_slow_of_tests:PASS"))
    with pytest.raises(KeyboardInterrupt):
        plugins.objects("rabbet.passes")
    (record,) = plugins.records("rabbet.passes")
    assert record.status == "found"  # nothing is known against it


@pytest.mark.parametrize("value", ["two words:thing", "module:a:b", ""])
def test_an_entry_point_that_names_nothing(value, monkeypatch):
    plugins = manager(*offer("rabbet-hostile", "rabbet.hooks", thing=value))
    with pytest.warns(PluginWarning, match="its entry point has the value .*, which names no object"):
        assert plugins.objects("rabbet.hooks") == []
    (record,) = plugins.records("rabbet.hooks")
    assert record.package == "rabbet-hostile" and discovery.module_of(record.entry_point) == ""
    monkeypatch.setattr(composition, "manager", lambda: plugins)
    assert "" not in composition.plugin_packages.__wrapped__()


TAKEN = {
    "rabbet.passes": Pass("dead-code", lambda jaxpr, context: jaxpr),
    "rabbet.dtypes": DTypeSpec("float32", np.float32, "f32", "f"),
}


@pytest.mark.parametrize("group", TAKEN)
def test_a_name_that_core_has(objects, group):
    objects.thing = TAKEN[group]
    plugins = manager(*offer("rabbet-hostile", group, **{TAKEN[group].name: f"{MODULE}:thing"}))
    with pytest.warns(PluginWarning, match=f"core has a .* {TAKEN[group].name!r} itself"):
        assert plugins.objects(group) == []


def test_two_packages_with_one_name_are_told_once_where_nobody_asked_for_it():
    both = [*offer("rabbet-a", "rabbet.passes", same="a:p"), *offer("rabbet-b", "rabbet.passes", same="b:p")]
    plugins = manager(*both)
    with pytest.warns(PluginWarning) as told:
        assert plugins.objects("rabbet.passes") == []
    assert len(told) == 1
    for fact in ("2 packages offer 'same'", "rabbet-a 1.0", "rabbet-b 1.0", "RABBET_PREFER=passes.same="):
        assert fact in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plugins.objects("rabbet.passes")


def test_a_hook_that_ends_the_program_is_a_warning(monkeypatch):
    module = types.ModuleType(MODULE)

    @hookimpl
    def cache_hit(name):
        raise SystemExit(3)

    module.cache_hit = cache_hit
    monkeypatch.setitem(sys.modules, MODULE, module)
    hooks = Hooks(manager(*offer("rabbet-hostile", "rabbet.hooks", ends=MODULE)))
    with pytest.warns(PluginWarning, match="'ends': its hook cache_hit raised SystemExit: 3"):
        hooks.notify("cache_hit", name="step")


def emptied(jaxpr):
    jaxpr.equations.clear()


def others(jaxpr):
    jaxpr.equations = jaxpr.equations[:1]


def turned(jaxpr):
    jaxpr.outvars.reverse()


def lost(jaxpr):
    jaxpr.equations.clear()
    raise ValueError("half way")


@pytest.mark.parametrize("change", [emptied, others, turned, lost])
@pytest.mark.parametrize("inside", [False, True], ids=["outermost", "body"])
def test_a_pass_that_changes_what_it_is_given(monkeypatch, change, inside):
    """It is named, with the switch, and the program is for others what it was."""

    def run(jaxpr, context):
        if len(jaxpr.outvars) == 2:
            change(jaxpr)
        return jaxpr

    two = lambda x: [lax.sin(x), lax.cos(x)]
    function = (lambda x: lax.cond(x > 0, two, two, x)[:1]) if inside else two
    program = stage(function, [rb.typeof(np.float32(1))]).jaxpr
    before = str(program)
    monkeypatch.setattr(pipeline, "_ordered", (Pass("careless-of-tests", run),))
    with pytest.raises((PluginError, ValueError), match=r"changed its argument|half way") as caught:
        pipeline.run(program, "cpu")
    assert any("RABBET_DISABLE_PASSES=careless-of-tests" in note for note in caught.value.__notes__)
    assert str(program) == before
    good = pipeline.DEAD_CODE.apply(program, PassContext("cpu"))
    assert type(good) is Jaxpr and good.out_avals == program.out_avals


@pytest.mark.parametrize(
    "changes, said",
    [({"priority": "high"}, "its priority is 'high'"), ({"make_client": 3}, "its make_client is 3")],
)
def test_a_backend_that_cannot_be_ranked_or_started(objects, changes, said):
    fields = {"priority": 1, "make_client": lambda options: None, **changes}
    objects.thing = Backend("hostile", **fields)
    plugins = manager(*offer("rabbet-hostile", "rabbet.backends", hostile=f"{MODULE}:thing"))
    with pytest.raises(PluginError, match=said):
        plugins.get("rabbet.backends", "hostile")


def bridged(name, *rules):
    """A primitive, and a table for which packages bring these rules."""
    made = Primitive(f"{name}_of_tests", lambda x: x, kinds=("elementwise",))
    sets = [RuleSet(f"{name}_table_of_tests") for _ in rules]
    for one, rule in zip(sets, rules, strict=True):
        one.primitive(made)(rule)
    table = RuleTable(f"{name}_table_of_tests", bridges=lambda _: sets)
    records = [
        types.SimpleNamespace(object=one, name=one.name, title=f"rabbet-{i} 1.0")
        for i, one in enumerate(sets)
    ]
    return made, table, records


def test_doctor_names_rules_that_are_never_used():
    made, table, (record,) = bridged("shadowed", lambda op, x: x)
    assert list(composition.of_unused_rules(record)) == []
    made.rule(table.name)(lambda op, x: x)
    ((label, ok, detail),) = composition.of_unused_rules(record)
    assert (label, ok) == (f"rules.{table.name}", False)
    assert "rabbet-0 1.0\nits rule for shadowed_of_tests" in detail
    assert "is never used: the one of the owner goes before it" in detail


def test_doctor_names_rules_that_two_packages_bring():
    made, table, records = bridged("torn_apart", lambda op, x: x, lambda op, x: x)
    for record in records:
        ((_, ok, detail),) = composition.of_unused_rules(record)
        assert not ok and record.title in detail and "two packages bring" in detail
    with pytest.raises(RuleConflict) as caught:
        table.lookup(made)
    assert caught.value.__context__ is None  # one story, not two
    with config.override(enable_checks=True), pytest.raises(RuleConflict):
        table.lookup(made)


def test_lines_of_core_do_not_show_where_a_package_does_not_fold():
    """An author who forgets to fold shows lines of the package, and none of core's."""
    table = RuleTable("unfolded_of_tests")

    class Unfolded(Interpreter):
        pass

    Unfolded.table = table
    Unfolded.lift = lambda self, value: value
    Unfolded.type_of = lambda self, value: rb.typeof(value)
    with pytest.raises(rb.errors.MissingRule) as caught:
        run(Unfolded(), lambda x: lax.sin(x), [1.0])
    assert {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)} == {__file__}


def test_an_evaluate_rule_that_returns_something_else_is_named():
    made = Primitive("evaluated_of_tests", lambda x, what: x)
    wrong = [np.float32([1, 2]), [np.float32([1, 2, 3])], [], None, 3]
    made.rule("evaluate")(lambda op, x: wrong[op.params["what"]])
    for what in range(len(wrong)):
        with pytest.raises(TypeError) as caught:
            made(np.float32([1, 2]), what=what)
        assert "the 'evaluate' rule for primitive 'evaluated_of_tests' (" in str(caught.value)
        assert "expected is a list of NumPy arrays of types [f32[2]]" in str(caught.value)
