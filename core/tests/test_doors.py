"""The doors of ``rabbet.extend``: few names, each with an example that runs; every primitive among them."""

import doctest
import importlib
import inspect
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import rabbet
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.extend import DOORS
from rabbet.extend import primitive as door
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import RuleTable
from rabbet.plugins import public_names
from rabbet.primitives import catalogue
from rabbet.rules.primitive import all_primitives

pytestmark = pytest.mark.library

MOST_NAMES = 25
ROOT = pathlib.Path(rabbet.__file__).parent
ROOMS = [
    ["rabbet", room]
    for room in "runtime trace rules program primitives lowering messages passes plugins".split()
]
NAMES = [(door, name) for door in DOORS for name in importlib.import_module(f"rabbet.extend.{door}").__all__]


def module(name):
    return importlib.import_module(f"rabbet.extend.{name}")


@pytest.mark.parametrize("name", DOORS)
def test_a_door_has_few_names_and_dir_lists_them(name):
    names = module(name).__all__
    assert len(names) == len(set(names)) <= MOST_NAMES
    assert set(names) <= set(dir(module(name)))
    assert not [one for one in dir(module(name)) if one.startswith("_")]


@pytest.mark.parametrize(("door", "name"), NAMES)
@pytest.mark.narrow
def test_a_name_is_documented_by_an_example_that_runs(door, name):
    """In the docstring of what defines it; ``rb``, ``lax`` and ``np`` are there."""
    text = inspect.getdoc(getattr(module(door), name))
    scope = {"rb": rabbet, "lax": lax, "np": np, "__name__": "example"}
    example = doctest.DocTestParser().get_doctest(text, scope, name, None, None)
    assert re.search(rf"\b{name}\b", " ".join(e.source for e in example.examples)), "no example uses it"
    asked = set(re.findall(r"rb\.(jit|grad|vmap|numpy|random|checkpoint|debug)\b", text))
    if not asked <= set(public_names.names()):
        pytest.skip(f"the example is of packages that are not here: {', '.join(sorted(asked))}")
    report = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert not failed, "".join(report)


INSIDE = {path.stem for path in ROOT.rglob("*.py")} | {path.parent.name for path in ROOT.rglob("__init__.py")}
PUBLIC = {*dir(rabbet), *DOORS, *catalogue.by_public_name(), "rabbet", "rb", "np"}
DOTTED = re.compile(r"``?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)")


@pytest.mark.parametrize(("door", "name"), NAMES)
def test_documentation_names_nothing_that_only_core_can_reach(door, name):
    """No ``module.name`` of a module of core's inside, and no path into its rooms."""
    thing = getattr(importlib.import_module(f"rabbet.extend.{door}"), name)
    members = vars(thing).items() if inspect.isclass(thing) else ()
    docs = [inspect.getdoc(thing), *[inspect.getdoc(v) for k, v in members if not k.startswith("_")]]
    named = [found for doc in docs if isinstance(doc, str) for found in DOTTED.findall(doc)]
    within = [n for n in named if n.split(".")[0] in INSIDE - PUBLIC or n.split(".")[:2] in ROOMS]
    assert within == []


def test_no_name_is_at_two_doors():
    names = [name for _, name in NAMES] + [*catalogue.by_public_name()]
    # The table of transposition rules, and the primitive that permutes dimensions; settings, which backends
    # bring too.
    twice = sorted({name for name in names if names.count(name) > 1})
    assert twice == ["Alias", "Setting", "transpose"]


@pytest.mark.parametrize("name", DOORS)
def test_importing_a_door_loads_no_other(name):
    """Nor anything else that ``import rabbet`` has not loaded, but for modules of core."""
    program = f"""
import sys, rabbet
before = set(sys.modules)
import rabbet.extend.{name}
new = set(sys.modules) - before - {{"rabbet.extend", "rabbet.extend.{name}"}}
print(sorted(m for m in new if m.startswith("rabbet.extend.") or not m.startswith("rabbet.")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_doors_are_found_without_importing_them_by_name():
    program = (
        "import rabbet; print(rabbet.extend.primitive.reduce_sum, rabbet.extend.hooks.hookimpl.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["reduce_sum", "hookimpl"]


@pytest.mark.parametrize("name", DOORS)
def test_what_is_not_there_says_so(name):
    with pytest.raises(AttributeError, match=rf"rabbet\.extend\.{name}'? has no (attribute )?'Stage2'"):
        module(name).Stage2  # noqa: B018


def test_every_primitive_of_core_is_at_the_door_by_its_name():
    primitives = catalogue.by_public_name()
    assert len(primitives) > 100
    assert set(primitives) <= set(dir(door))
    for name, one in primitives.items():
        assert isinstance(one, Primitive) and getattr(door, name) is one
        assert name == one.name or name in {f"{one.name}_", f"bitwise_{one.name}"}
    made = {p for p in all_primitives().values() if p.__module__.startswith("rabbet.primitives.")}
    assert made == set(primitives.values())


def test_the_hints_of_every_primitive_can_be_executed_as_they_are_printed():
    for one in catalogue.by_public_name().values():
        rules = RuleTable("doors", bridges=lambda name: [])
        message = str(rules.missing(one))
        hints = re.findall(r"@(\S+\(\S*?\))(?=,| |;|$)", message)
        assert [hint.partition("(")[0].rpartition(".")[2] for hint in hints] == ["rule", "primitive"], message
        scope = {"rules": rules, "rabbet": rabbet}
        exec(f"@{hints[1]}\ndef by_table(op, *args): pass\n", scope)
        assert rules.explain(one).rule is scope["by_table"]
        try:
            exec(f"@{hints[0]}\ndef beside(op, *args): pass\n", scope)
            assert one.rules["doors"] is scope["beside"]
        finally:
            one._rules.pop("doors", None)


def test_a_hint_names_a_primitive_of_others_by_its_module():
    rules = RuleTable("doors_of_others", bridges=lambda name: [])
    mine = Primitive("nowhere_to_be_found", lambda x: x)
    assert "@rules.primitive(nowhere_to_be_found)" in str(rules.missing(mine))
    globals()["MINE"] = mine
    try:
        assert f"@rules.primitive({__name__}.MINE)" in str(rules.missing(mine))
    finally:
        del globals()["MINE"]
    with pytest.raises(MissingRule):
        rules.lookup(mine)
