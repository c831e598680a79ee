"""The table of JAX's libraries is what was measured: it follows from ``tests/ecosystem/suites.json``."""

import importlib.util
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def the_tool(name="library_suites", room="check"):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / room / f"{name}.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_the_page_has_the_measured_table():
    tool = the_tool()
    found = json.loads(tool.RECORD.read_text())
    text = tool.PAGE.read_text()
    assert tool.page_with(found, text) == text, (
        "run python tools/check/library_suites.py --into FOLDER --record"
    )
    assert all(row["on rabbet"] <= row["under jax"] for row in found.values())
    assert all(row["commit"] and row["files"] for row in found.values())


def test_each_library_has_the_page_that_follows_from_its_runs():
    tool = the_tool("library_pages", "write")
    written = {path.stem: path.read_text() for path in tool.PAGES.glob("*.md")}
    assert written == tool.pages(), "run python tools/write/library_pages.py"
    assert written.keys() >= tool.read("suites.json").keys()


def test_a_page_names_the_cases_that_fail_and_the_names_that_are_absent():
    tool = the_tool("library_pages", "write")
    library = {
        "title": "Wood",
        "about": "joints",
        "programs": ["cut"],
        "tried": "a saw",
        "differs": ["Slower."],
    }
    fails = {"test_a::test_b": "Off | by one"}
    row = {"release": "2.1", "under jax": 5, "on rabbet": 3, "what": "2 of 3 files", "fails": fails}
    row |= {"files on rabbet only": [], "passed on rabbet only": 0}
    known = {"modules": 7, "refused": {}, "names": ["jax.saw"]}
    text = tool.page("wood", library, row, known)
    for said in (
        "3 of the 5 cases",
        "programs/cut.py` prints",
        "- Slower.",
        "`test_a::test_b` | `Off / by one`",
    ):
        assert said in text
    assert "1 more of the cases fails" in text and "- `jax.saw`" in text and "were not run" in text
    assert "Nothing that is known" in tool.page(
        "wood", {**library, "differs": []}, None, known | {"release": "2"}
    )


def test_a_case_that_passes_under_jax_alone_is_kept_without_folders_of_this_machine():
    tool = the_tool()
    here = {"f::one": ("failed", "not like /home/x/y/file.py\nand more"), "f::two": ("passed", "")}
    under = {
        "jax": {"f::one": ("passed", ""), "f::two": ("passed", ""), "f::three": ("passed", "")},
        "rabbet": here,
    }
    assert tool.failing({"f": under}) == {"f::one": "not like file.py", "f::three": "it is not collected"}


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
