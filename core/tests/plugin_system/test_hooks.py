"""Hooks: a test for every one of them, and that none can break what it watches."""

import inspect
import sys
import types
import warnings

import pytest
from rabbet.errors import PluginWarning
from rabbet.extend.hooks import CompiledProgram, PassRun, Transfer
from rabbet.plugins import hookspecs
from rabbet.plugins.hooks import Hooks
from rabbet.plugins.manager import PluginManager

from .fakes import offer

# One row for each hook: the facts that the core reports with it.
FACTS = {
    "trace_started": {"name": "step", "reason": "first call"},
    "trace_finished": {"name": "step", "seconds": 0.25},
    "lower_finished": {"name": "step", "platform": "cpu", "pass_seconds": 0.01, "seconds": 0.02},
    "compile_started": {"name": "step", "platform": "cpu", "module_size": 1234},
    "compile_finished": {"name": "step", "seconds": 2.5, "cached": False},
    "program_shared": {"name": "step"},
    "cache_hit": {"name": "step"},
    "cache_miss": {"name": "step"},
    "pass_finished": {"run": PassRun("cse", "step", "model.py:12", "cpu", 0.002, 40, 36)},
    "program_ready": {
        "program": CompiledProgram("step", "model.py:12", "cpu", 1, 0.5, "compiler", 800, 4, 0)
    },
    "transferred": {"transfer": Transfer("host-to-device", 4096, "cpu:0", True)},
    "device_lost": {"device": "cuda:0", "error": RuntimeError("gone")},
    "doctor_checks": {},
}


@pytest.fixture
def plugin(monkeypatch):
    """Make a module with the given hook implementations importable, and offer it as a hook plugin."""

    def make(name, **functions):
        module = types.ModuleType(f"rabbet_fake_{name}")
        for hook, function in functions.items():
            setattr(module, hook, hookspecs.hookimpl(function))
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return offer(f"dist-{name}", "rabbet.hooks", **{name: module.__name__})

    return make


def make(*plugins):
    manager = PluginManager([one for group in plugins for one in group], core_version="0.1.0")
    return Hooks(manager), manager


def test_every_hook_has_a_row_here_with_the_arguments_of_its_specification():
    assert set(FACTS) == set(hookspecs.hook_names())
    for name, facts in FACTS.items():
        assert set(facts) == set(inspect.signature(getattr(hookspecs, name)).parameters)


def test_every_hook_is_described_and_its_arguments_are_mentioned():
    for name in hookspecs.hook_names():
        text = inspect.getdoc(getattr(hookspecs, name))
        assert text.endswith(".")
        for argument in FACTS[name]:
            assert f"``{argument}``" in text


@pytest.mark.parametrize("hook", FACTS)
def test_every_hook_reaches_every_plugin_with_its_facts(plugin, hook):
    heard = []
    # pluggy reads the names of the arguments, so the listener must spell them.
    arguments, same = ", ".join(FACTS[hook]), ", ".join(f"{name}={name}" for name in FACTS[hook])
    listener = eval(f"lambda {arguments}: heard.append(dict({same}))", {"heard": heard})
    calls, _ = make(plugin("one", **{hook: listener}), plugin("two", **{hook: listener}))
    calls.notify(hook, **FACTS[hook])
    assert heard == [FACTS[hook]] * 2


def test_an_implementation_may_take_fewer_arguments(plugin):
    heard = []
    calls, _ = make(plugin("one", compile_finished=lambda seconds: heard.append(seconds)))
    calls.notify("compile_finished", **FACTS["compile_finished"])
    assert heard == [2.5]


def test_nothing_is_imported_before_the_first_call(monkeypatch):
    calls, manager = make(offer("d", "rabbet.hooks", h="rabbet_fake_never"))
    assert manager.records()[0].status == "found"
    with pytest.warns(PluginWarning, match="No module named 'rabbet_fake_never'"):
        calls.notify("cache_hit", name="step")


def test_without_hook_plugins_the_call_reaches_nothing():
    calls, _ = make()
    calls.notify("cache_hit", name="step")
    assert calls._callers == {}
    assert calls.collect("doctor_checks") == []


def test_a_hook_that_raises_is_reported_once_by_name_and_the_others_still_hear(plugin):
    heard = []

    def broken(name):
        raise ValueError("boom")

    good = plugin("good", cache_hit=lambda name: heard.append(name))
    calls, _ = make(plugin("bad", cache_hit=broken), good)
    with pytest.warns(PluginWarning, match="'bad': its hook cache_hit raised ValueError: boom") as seen:
        for _ in range(3):
            calls.notify("cache_hit", name="step")
    assert len(seen) == 1
    assert heard == ["step"] * 3


def test_answers_are_collected_by_plugin(plugin):
    def broken():
        raise ValueError("boom")

    calls, _ = make(
        plugin("one", doctor_checks=lambda: [("disk", True, "fine")]),
        plugin("two", doctor_checks=broken),
        plugin("three", cache_hit=lambda name: None),
    )
    with pytest.warns(PluginWarning, match="'two'"):
        assert calls.collect("doctor_checks") == [("one", [("disk", True, "fine")])]


@pytest.mark.parametrize(
    "functions, message",
    [
        ({"cache_hit": lambda nmae: None}, "nmae"),
        ({"cache_hti": lambda name: None}, "cache_hti"),
        ({}, "has no function marked with @rabbet.extend.hooks.hookimpl"),
    ],
)
def test_a_hook_that_does_not_fit_its_specification_is_refused_whole(plugin, functions, message):
    heard = []
    good = {"cache_miss": lambda name: heard.append(name)} if functions else {}
    calls, manager = make(plugin("bad", **functions, **good))
    with pytest.warns(PluginWarning, match=message):
        calls.notify("cache_miss", name="step")
    assert heard == []
    assert manager.records()[0].status in ("failed", "invalid")


def test_a_hook_plugin_that_compiles_while_it_is_imported_is_not_asked_about_that(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "rabbet_fake_eager.py").write_text(
        "import builtins\n"
        "from rabbet.plugins.hookspecs import hookimpl\n"
        "builtins.rabbet_test_hooks.notify('cache_hit', name='during import')\n"
        "heard = []\n"
        "cache_hit = hookimpl(lambda name: heard.append(name))\n"
    )
    import builtins

    calls, _ = make(offer("d", "rabbet.hooks", eager="rabbet_fake_eager"))
    monkeypatch.setattr(builtins, "rabbet_test_hooks", calls, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calls.notify("cache_hit", name="later")
    assert sys.modules.pop("rabbet_fake_eager").heard == ["later"]
