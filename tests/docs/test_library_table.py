"""The table of JAX's libraries is what was measured: it follows from ``tests/ecosystem/suites.json``."""

import importlib.util
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_page_has_the_measured_table():
    spec = importlib.util.spec_from_file_location("library_suites", ROOT / "tools" / "library_suites.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    found = json.loads(tool.RECORD.read_text())
    text = tool.PAGE.read_text()
    assert tool.page_with(found, text) == text, "run python tools/library_suites.py --into FOLDER --record"
    assert all(row["on rabbet"] <= row["under jax"] for row in found.values())
    assert all(row["commit"] and row["files"] for row in found.values())
