"""The tool that runs the packages' own tests under settings: how it sorts what happened, and what it leaves
out.
"""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import rabbet as rb

ROOT = Path(__file__).resolve().parents[2]


def module_at(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


tool = module_at(ROOT / "tools" / "check" / "suites_under_settings.py")
conftest = module_at(ROOT / "conftest.py")

IN_LIBRARY = """plugins/a/b/tests/test_x.py:3: in test_one
    f(1)
plugins/a/b/src/rabbet_b/f.py:7: in f
    return lax.add(x, y)
core/src/rabbet/lax/arithmetic.py:9: in add
    raise ValueError("ranks")
E   ValueError: ranks
"""
IN_TEST = """plugins/a/b/tests/test_x.py:9: in test_two
    x + y
core/src/rabbet/lax/operators.py:20: in binary
    raise ValueError("ranks")
E   ValueError: ranks
"""


def test_a_failure_is_the_librarys_where_its_innermost_line_outside_of_operators_is():
    assert tool.cause(IN_LIBRARY) == ("plugins/a/b/src/rabbet_b/f.py:7", "ValueError: ranks")
    assert tool.is_of_library(*tool.cause(IN_LIBRARY))
    assert tool.cause(IN_TEST) == ("plugins/a/b/tests/test_x.py:9", "ValueError: ranks")
    assert not tool.is_of_library(*tool.cause(IN_TEST))
    assert not tool.is_of_library("plugins/a/b/src/rabbet_b/f.py:7", "rabbet.errors.TransferError: x")


def test_outcomes_are_counted_by_package():
    one, two, other = (
        "plugins/a/b/tests/test_x.py::one",
        "plugins/a/b/tests/test_x.py::two",
        "core/tests/t.py::t",
    )
    lines = [
        *(("chosen", test) for test in (one, two, other)),
        ("failed", one, IN_LIBRARY), ("done", one),
        ("skipped", two, "about what debug_nans, debug_infs forbids"), ("done", two),
        ("skipped", two, "needs plugins that are not installed here: numpy"),
        ("failed", other, IN_TEST),
    ]  # fmt: skip
    found = tool.sorted_out(map(json.dumps, lines), ["plugins/a/b", "core"])
    sums = {"passed": 0, "marked": 1, "own": 0, "library": 1, "skipped": 1}
    assert found["plugins/a/b"].sums == sums and not found["plugins/a/b"].waiting
    assert found["core"].sums == {"passed": 0, "marked": 0, "own": 1, "library": 0}
    assert found["core"].waiting == 1  # the process died before it was done


def test_a_page_names_the_packages_that_were_not_run():
    everything = {suite: dict.fromkeys(tool.SETTINGS) for suite in tool.packages()}
    assert tool.not_run(everything).startswith("Each of the ")
    del everything["core"][tool.SETTINGS[0]], everything["plugins/functions/fft"]
    assert ": core, functions/fft." in tool.not_run(everything)


def test_a_test_about_what_any_setting_of_a_group_forbids_is_left_out():
    marks = [pytest.mark.forbidden("debug_nans", "numpy_rank_promotion").mark]
    item = SimpleNamespace(
        get_closest_marker=lambda name: None,
        iter_markers=lambda name: marks if name == "forbidden" else [],
    )
    with rb.config.override(debug_nans=False, numpy_rank_promotion="allow", debug_infs=True):
        conftest.pytest_runtest_setup(item)
    on = {"debug_infs": True, "debug_nans": True}
    with rb.config.override(**on), pytest.raises(pytest.skip.Exception) as caught:
        conftest.pytest_runtest_setup(item)
    assert str(caught.value) == "about what debug_nans forbids" and tool.MARKED.fullmatch(str(caught.value))
    on = {"debug_nans": True, "numpy_rank_promotion": "raise"}
    with rb.config.override(**on), pytest.raises(pytest.skip.Exception, match="debug_nans, numpy_rank_prom"):
        conftest.pytest_runtest_setup(item)
