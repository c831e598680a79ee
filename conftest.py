"""What every test folder shares: skipping what needs plugins that this environment does not have."""

import sys
from functools import cache
from importlib.metadata import entry_points

import pytest

GROUPS = ("rabbet.api", "rabbet.backends", "rabbet.dtypes", "rabbet.rules", "rabbet.passes", "rabbet.hooks")


@cache
def installed_plugins():
    """Names offered through rabbet's entry-point groups, e.g. 'jit', 'numpy', 'bfloat16', 'cpu'."""
    return {point.name for group in GROUPS for point in entry_points(group=group)}


def pytest_runtest_setup(item):
    wanted = {name for mark in item.iter_markers("needs") for name in mark.args}
    missing = sorted(wanted - installed_plugins())
    if missing:
        pytest.skip(f"needs plugins that are not installed here: {', '.join(missing)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Whatever platform is the default: one that lacks what a test needs says so itself (`Backend.lacks`)."""
    try:
        return (yield)
    except Exception as error:
        # Environments without rabbet share this file.
        refused = getattr(sys.modules.get("rabbet.errors"), "NotOfferedError", ())
        while isinstance(error, ExceptionGroup):  # of several threads, each a warning about an error
            error = error.exceptions[0].__cause__ or error.exceptions[0]
        if not isinstance(error, refused):
            raise
        reason = str(error).splitlines()[0]
    pytest.skip(reason)


# What runs every primitive or library function in every dtype: two environments of the matrix run these.
EXHAUSTIVE = (
    "core/tests/primitives/",
    "tests/conformance/test_primitives.py",
    "plugins/numpy/tests/test_values.py",
)


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.path.relative_to(config.rootpath).as_posix().startswith(EXHAUSTIVE):
            item.add_marker("exhaustive")
