"""Objects that are not what their group is for: said at load, with what to change, and skipped by others."""

import types

import pytest
import rabbet as rb
from rabbet.errors import PluginError, PluginWarning
from rabbet.extend.dtype import DTypeSpec
from rabbet.extend.hooks import hookimpl
from rabbet.extend.passes import Pass
from rabbet.extend.transform import RuleSet
from rabbet.passes import pipeline
from rabbet.plugins.validation import problem

from .fakes import MODULE, manager, offer


def misspelt():
    class Watcher:
        @hookimpl
        def compile_finnished(self):
            pass

    return Watcher()


def rules_without_operands():
    rules = RuleSet("batch")
    rules.primitive(rb.lax.sin)(lambda: None)
    return rules


def same(jaxpr, context):
    return jaxpr


INVALID = {
    ("rabbet.passes", "function"): (same, r"names a function, .* must name a Pass"),
    ("rabbet.passes", "other"): (Pass("cleanup", same), "is called 'cleanup', the entry point 'other'"),
    ("rabbet.passes", "few"): (Pass("few", lambda jaxpr: jaxpr), "called as run.jaxpr, context"),
    ("rabbet.passes", "order"): (Pass("order", same, after="cse"), "write a tuple of names, such as .'cse',"),
    ("rabbet.rules", "batch"): ({}, "names a dict, .* must name a RuleSet"),
    ("rabbet.rules", "jvp"): (RuleSet("jpv"), "called 'jpv', the entry point 'jvp'"),
    ("rabbet.rules", "batch2"): (RuleSet("batch"), "give both the same name"),
    ("rabbet.custom_rules", "jvp"): ("no function", "cannot be called as make"),
    ("rabbet.dtypes", "posit8"): ("posit8", "names a str, 'posit8', and must name a DTypeSpec"),
    ("rabbet.backends", "toaster"): (object, "must name a Backend"),
    ("rabbet.settings", "mine"): ([3], "names 3 among its settings.*a list of rabbet.extend.backend.Setting"),
    ("rabbet.settings", "one"): ("loud", "names 'loud' among its settings"),
    ("rabbet.commands", "toast"): (types.ModuleType("toast"), "it lacks HELP, add_arguments, run"),
    ("rabbet.hooks", "nothing"): (types.ModuleType("empty"), "no function marked with @rabbet.extend.hooks"),
    ("rabbet.hooks", "misspelt"): (misspelt(), "no hook .*did you mean 'compile_finished'"),
    ("rabbet.api", "nothing"): (None, "must name a function, a class or a module"),
}  # fmt: skip


@pytest.mark.parametrize(("where", "case"), INVALID.items(), ids=[".".join(k) for k in INVALID])
def test_what_is_wrong_is_said_with_what_to_change(objects, where, case):
    (group, name), (thing, message) = where, case
    objects.thing = thing
    plugins = manager(*offer("rabbet-invalid", group, **{name: f"{MODULE}:thing"}))
    with pytest.raises(PluginError, match=f"(?s)comes from rabbet-invalid 1.0 .*{message}.*RABBET_DISABLE"):
        plugins.get(group, name)
    (record,) = plugins.records(group, name)
    assert record.status == "invalid" and record.object is None


def test_rules_that_cannot_be_called_as_rules():
    assert "cannot be called as rule(op, *payloads)" in problem(
        "rabbet.rules", "batch", rules_without_operands()
    )


def test_what_is_right_has_no_problem(objects):
    import json

    assert problem("rabbet.api", "dumps", json.dumps) is None
    assert problem("rabbet.api", "json", json) is None
    assert problem("rabbet.passes", "same", Pass("same", same, after=("cse",), platforms=("cpu",))) is None
    assert problem("rabbet.rules", "batch", RuleSet("batch")) is None
    assert isinstance(rb.dtypes.spec("float32"), DTypeSpec)
    assert "core has a dtype 'float32' itself" in problem(
        "rabbet.dtypes", "float32", rb.dtypes.spec("float32")
    )


def test_everybody_else_goes_on_and_is_told_once(objects):
    objects.bad, objects.good = same, Pass("good", same)
    plugins = manager(
        *offer("rabbet-bad", "rabbet.passes", bad=f"{MODULE}:bad"),
        *offer("rabbet-good", "rabbet.passes", good=f"{MODULE}:good"),
    )
    with pytest.warns(PluginWarning, match="(?s)rabbet-bad 1.0.*everything else works") as seen:
        assert plugins.objects("rabbet.passes") == [objects.good]
        assert plugins.objects("rabbet.passes") == [objects.good]
    assert len(seen) == 1


def test_passes_in_a_circle_are_left_out():
    one, two, three = (
        Pass("one", same, after=("two",)),
        Pass("two", same, after=("one",)),
        Pass("three", same),
    )
    refused = {}
    kept = pipeline.without_circles([one, two, three], refused.__setitem__)
    assert kept == [three] and set(refused) == {"one", "two"}
    assert "each have to run before the next" in refused["one"]
