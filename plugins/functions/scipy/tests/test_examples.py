"""The examples in the docstrings of rabbet.scipy.special and rabbet.scipy.stats: every name has one."""

import doctest
import inspect
import types

import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.scipy import special, stats

NAMES = {"special": special, "stats": stats, "rb": rb, "rnp": rnp}


def documented():
    for name in sorted(dir(special)):
        thing = getattr(special, name)
        if not name.startswith("_") and not isinstance(thing, types.ModuleType):
            yield f"special.{name}", thing
    for name in stats.__all__:
        thing = getattr(stats, name)
        if isinstance(thing, types.ModuleType):
            yield from ((f"stats.{name}.{one}", getattr(thing, one)) for one in thing.__all__)
        else:
            yield f"stats.{name}", thing


ALL = dict(documented())


def test_every_name_has_an_example_and_types():
    assert len([name for name in ALL if name.startswith("special")]) >= 54
    for name, thing in ALL.items():
        assert doctest.DocTestFinder().find(thing, name, module=False)[0].examples, f"{name} has no example"
        if not isinstance(thing, type):
            assert "return" in inspect.get_annotations(inspect.unwrap(thing)), f"{name} has no types"


FAMILIES = {}
for each in ALL:
    FAMILIES.setdefault(each.rpartition(".")[0], []).append(each)
# Each of these compiles programs of its own, so few of them run every time.
SAMPLE = FAMILIES["special"][::5]


def run_examples(names):
    runner = doctest.DocTestRunner(verbose=False)
    for name in names:
        for test in doctest.DocTestFinder(recurse=False).find(
            ALL[name], name, module=False, globs=dict(NAMES)
        ):
            runner.run(test)
    assert runner.tries and not runner.failures


def test_a_sample_of_examples():
    assert len(SAMPLE) > 10
    run_examples(SAMPLE)


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_examples(family):
    run_examples(FAMILIES[family])
