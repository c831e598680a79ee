"""The report's logic, on fixed numbers: what is compared, what counts as over budget, what the page says."""

import importlib
import pathlib
import sys

import pytest

pytestmark = pytest.mark.exhaustive

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
NAMES = ("report", "picture", "runs", "suite", "table")


@pytest.fixture(scope="module")
def parts():
    """The report's modules by name; they are scripts beside each other, not a package."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield {name: importlib.import_module(name) for name in NAMES}
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in NAMES:
            sys.modules.pop(name, None)


@pytest.fixture
def program(parts):
    commands = {"rabbet": ("a.py",), "jax": ("a.py",), "numpy": ("a.py",)}
    budgets = {"step_ms": {"jax": 0.5}, "trace_s": {"jax": 0.5}, "free_ms": {}}
    return parts["suite"].Program("a.py", commands, budgets)


def results(step=(2.0, 2.0, 9.0), theirs=(3.0, 4.0, 2.0)):
    rabbet = [{"step_ms": s, "trace_s": 0.1, "free_ms": 1.0, "losses": [1.0, 2.0]} for s in step]
    jax = [{"step_ms": s, "trace_s": 0.4, "free_ms": 2.0, "losses": [1.0, 2.0]} for s in theirs]
    return {"rabbet": rabbet, "jax": jax, "numpy": [{"step_ms": 8.0, "losses": [1.0, 2.0]}]}


def test_ratios_are_of_the_least_readings(parts, program):
    step, trace, free = parts["table"].rows_of(program, results())
    assert step.ratios == {"jax": 1.0, "numpy": 0.25}
    assert step.excess == 2.0
    assert trace.excess == pytest.approx(0.5)
    assert free.excess is None


def test_a_program_over_its_budget_is_measured_once_more(parts, program, monkeypatch):
    rounds = [results(step=(2.0,)), results(step=(1.0,)), results(step=(0.1,))]
    monkeypatch.setattr(parts["runs"], "alternate", lambda *_: rounds.pop(0))
    rows, _, failed, differ = parts["report"].measure([program], 3, ["rabbet", "jax", "numpy"])
    assert rows[0].ratios["jax"] == 0.5 and len(rounds) == 1
    parts["report"].measure([program], 3, ["rabbet", "jax", "numpy"])
    assert not (rounds or failed or differ)


def test_what_is_over_budget_stands_first(parts, program):
    rows = parts["table"].rows_of(program, results())
    assert parts["table"].table([rows[2], rows[1], rows[0]]).splitlines() == [
        "| program | figure | rabbet / jax | rabbet / numpy | budget | within |",
        "|---|---|---|---|---|---|",
        "| a.py | step_ms | 1.00 | 0.25 | 0.5 jax | **no** |",
        "| a.py | free_ms | 0.50 |  |  |  |",
        "| a.py | trace_s | 0.25 |  | 0.5 jax | yes |",
    ]


def test_results_are_checked_against_each_other(parts):
    found = results()
    assert parts["runs"].disagreements("a.py", found) == []
    found["numpy"][0]["losses"] = [1.0, 2.1]
    (line,) = parts["runs"].disagreements("a.py", found)
    assert line == "a.py: losses: numpy has [1.0, 2.1], jax has [1.0, 2.0]"
    found["numpy"][0]["losses"] = [1.0, float("nan")]
    assert len(parts["runs"].disagreements("a.py", found)) == 1


def test_a_failure_is_reported_and_the_run_goes_on(parts, program):
    def run(name, command, cache, warm):
        return {"failed": "boom"} if name == "jax" else {"step_ms": 1.0}

    found = parts["runs"].alternate(program, 3, ("rabbet", "jax", "numpy"), run)
    assert {name: len(rows) for name, rows in found.items()} == {"rabbet": 3, "jax": 1, "numpy": 1}
    assert parts["table"].failures(program, found) == ["- a.py: jax failed: boom"]
    (row,) = parts["table"].rows_of(program, found)
    assert row.ratios == {"numpy": 1.0} and row.excess is None


def test_a_failure_of_rabbet_is_the_first_line(parts, program):
    rows = parts["table"].rows_of(program, {"rabbet": [{"failed": "boom"}], "jax": [{"step_ms": 1.0}]})
    rows = parts["table"].rows_of(program, results()) + rows
    assert parts["table"].table(rows).splitlines()[2] == "| a.py |  |  |  |  | failed |"


def test_a_warm_run_fills_one_folder_before_it_measures(parts, program):
    seen = []

    def run(name, command, cache, warm):
        seen.append((name, cache, warm))
        return {"step_ms": 1.0}

    warm = parts["suite"].Program("w", {"rabbet": ("a.py",), "jax": ("a.py",)}, {}, warm=True)
    parts["runs"].alternate(warm, 1, ("rabbet", "jax"), run)
    assert len(seen) == 4 and len(set(seen)) == 2 and all(warm for *_, warm in seen)
    seen.clear()
    parts["runs"].alternate(program, 2, ("rabbet", "jax"), run)
    assert len({cache for _, cache, _ in seen}) == 4


def test_processes_that_fail_print_why(parts):
    run = parts["runs"].run
    assert "can't open file" in run("rabbet", ("absent.py",), "/nowhere")["failed"]


def test_growth_is_a_line_for_each_figure_and_framework(parts):
    table = parts["table"]
    found = table.curves({"rabbet": [{"framework": "rabbet", "trace_s@10": 0.5, "trace_s@1000": 2.0}]})
    assert found == {"trace_s": {"rabbet": {10: 0.5, 1000: 2.0}}}
    assert table.growth_table("operations", found).splitlines()[0::2] == [
        "| operations | framework | 10 | 1,000 |",
        "| trace_s | rabbet | 0.5 | 2 |",
    ]


def test_the_page_counts_what_is_within_its_budget_and_shows_the_picture_before_the_table(
    parts, program, monkeypatch
):
    monkeypatch.setattr(parts["report"], "find_spec", lambda name: name == "matplotlib")
    rows = parts["table"].rows_of(program, results())
    judged = [row.excess for row in rows if row.excess is not None]
    text = parts["report"].page(rows, {}, [], 3)
    within = sum(excess <= 1 for excess in judged)
    assert f"{within} of the {len(judged)} figures that have a budget are within it." in text
    assert text.index("![") < text.index("| program |")


def test_only_what_is_between_the_markers_is_replaced(parts, tmp_path):
    report, path = parts["report"], tmp_path / "page.md"
    path.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write("new", path)
    assert path.read_text() == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"


def test_every_command_of_the_suite_is_a_file(parts):
    for program in parts["suite"].SUITE:
        assert "rabbet" in program.commands
        for command in program.commands.values():
            assert (BENCHMARKS / command[0]).is_file()


def test_the_picture_is_drawn(parts, tmp_path, program):
    pytest.importorskip("matplotlib")
    table, path = parts["table"], tmp_path / "picture.svg"
    curves = {"trace_s": {"rabbet": {10: 0.5, 1000: 2.0}}}
    parts["picture"].draw(path, table.rows_of(program, results()), {"ops": curves})
    assert "<svg" in path.read_text()
