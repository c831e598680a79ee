"""The tool that runs the packages' own tests under settings: how it sorts what happened, and what it leaves
out.
"""

import importlib.util
import json
import os
import subprocess
import sys
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


ONE, TWO, OTHER = "plugins/a/b/tests/test_x.py::one", "plugins/a/b/tests/test_x.py::two", "core/tests/t.py::t"


def test_outcomes_are_counted_by_package():
    lines = [
        *(("there", test) for test in (ONE, TWO, OTHER)),
        ("began", ONE), ("passed", ONE, ""), ("error", ONE, IN_LIBRARY), ("done", ONE, "0.1"),
        ("began", TWO), ("skipped", TWO, "about what debug_nans, debug_infs forbids"), ("done", TWO, "0.1"),
        ("began", OTHER),
    ]  # fmt: skip
    found = tool.sorted_out(map(json.dumps, lines), ["plugins/a/b", "core"])
    assert found["plugins/a/b"].sums == {"passed": 0, "marked": 1, "slow": 0, "own": 0, "library": 1}
    assert found["plugins/a/b"].left == 0 and found["core"].left == 1
    for of in found.values():
        of.stopped("the process ended with -11")
    assert found["core"].ended == {OTHER: ("library", "", "the process ended with -11")}
    assert not found["core"].left
    assert found["plugins/a/b"].ended[ONE][2] == "ValueError: ranks"


def test_what_is_known_is_not_run_again_and_counts(tmp_path, monkeypatch):
    file = tmp_path / "known"
    tool.Known(file).add("s", {ONE: ("passed", "", ""), OTHER: ("passed", "", "")})
    tool.Known(file).add("s", {ONE: ("own", "x.py:1", "E")})  # the last word holds
    known = tool.Known(file)
    assert known.of("s", "plugins/a/b", again=False) == {ONE: ("own", "x.py:1", "E")}
    assert not known.of("s", "plugins/a/b", again=True) and not known.of("t", "core", again=False)
    asked = []

    def outcomes(suites, settings, options, known):
        asked.append(known)
        return tool.sorted_out([json.dumps(("there", test)) for test in (ONE, TWO)], suites), ""

    monkeypatch.setattr(tool, "outcomes", outcomes)
    monkeypatch.setattr(tool, "RECORD", tmp_path / "record")
    options = SimpleNamespace(again=False, failures=False, record=True)
    assert tool.report(["plugins/a/b"], "s", options, known)["own"] == 1 and asked == [[ONE]]
    cell = json.loads((tmp_path / "record").read_text())["plugins/a/b"]["s"]
    assert cell == {"passed": 0, "marked": 0, "slow": 0, "own": 1, "library": 0, "left": 1}
    assert tool.short(cell) == "0, 1 own (1 not run)"


def test_a_process_runs_what_is_not_known_until_its_seconds_are_over(tmp_path):
    (tmp_path / "core" / "tests").mkdir(parents=True)
    text = "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_a(n): pass\n"
    (tmp_path / "core" / "tests" / "test_x.py").write_text(text)
    (tmp_path / "known").write_text("core/tests/test_x.py::test_a[0]\n")
    names = {"OUTCOMES": tmp_path / "log", "OUTCOMES_KNOWN": tmp_path / "known", "OUTCOMES_SECONDS": 1e-9}
    given = {name: str(value) for name, value in names.items()}
    environment = {**os.environ, **given, "PYTHONPATH": str(ROOT / "tools" / "check")}
    command = f"-m pytest -q -p suites.outcomes -p no:cacheprovider --rootdir {tmp_path} core".split()
    subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, timeout=120
    )
    of = tool.sorted_out((tmp_path / "log").read_text().splitlines(), ["core"])["core"]
    assert len(of.there) == 4 and of.ended == {"core/tests/test_x.py::test_a[1]": ("passed", "", "")}


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
