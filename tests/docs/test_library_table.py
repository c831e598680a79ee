"""The table of JAX's libraries is what was measured: it follows from ``tests/ecosystem/suites.json``."""

import importlib.util
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def the_tool():
    spec = importlib.util.spec_from_file_location("library_suites", ROOT / "tools" / "library_suites.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_the_page_has_the_measured_table():
    tool = the_tool()
    found = json.loads(tool.RECORD.read_text())
    text = tool.PAGE.read_text()
    assert tool.page_with(found, text) == text, "run python tools/library_suites.py --into FOLDER --record"
    assert all(row["on rabbet"] <= row["under jax"] for row in found.values())
    assert all(row["commit"] and row["files"] for row in found.values())


def test_results_of_several_folders_are_one(tmp_path):
    tool, folders = the_tool(), [tmp_path / "now", tmp_path / "before"]
    logs = (
        ("now", "jax", "one", "passed"),
        ("before", "jax", "two", "passed"),
        ("before", "rabbet", "one", "passed"),
        ("now", "rabbet", "two", "failed"),  # what the first folder says of it counts
        ("before", "rabbet", "two", "passed"),
    )
    for folder, under, file, outcome in logs:
        log = tmp_path / folder / "logs" / under / "optax" / f"{file}.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(json.dumps(["case", outcome, ""]) + "\n")
        log.with_suffix(".commit").write_text(f"of {folder}")
    known = tool.results(folders, "optax")
    assert tool.counts(known) == (2, 2, 1) and tool.counts(tool.results(folders[1:], "optax")) == (1, 1, 1)
    assert tool.commits_of(folders, "optax", ["one", "two"]) == "of before, of now"
