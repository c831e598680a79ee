"""Every program that the documents show is run, and what it prints is compared with what is shown.

A page is one program: its ```python blocks run in order in one namespace. A ```text block right after one
is what it must print. A page that says ``<!-- devices: 8 -->`` runs in a process with so many CPU devices.
"""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for pattern in (
        "README.md",
        "docs/**/*.md",
        "core/README.md",
        "plugins/*/*/README.md",
        "pjrt_*/README.md",
    )
    for page in ROOT.glob(pattern)
    if "```python" in page.read_text()
)
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\s*^```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def programs(page):
    """(line, code, what it must print or None) of each python block."""
    text = page.read_text()
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start()) + 2, match[1], match[2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_programs_print_what_the_page_shows(page):
    for library in re.findall(r"^<!-- needs: (\w+) -->$", page.read_text(), re.MULTILINE):
        pytest.importorskip(library, reason=f"the page shows {library}; another environment runs it")
    devices = re.search(r"^<!-- devices: (\d+) -->$", page.read_text(), re.MULTILINE)
    if devices is None or os.environ.get("RABBET_NUM_CPU_DEVICES") == devices[1]:
        return run(page)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", __file__, "-k", page.stem]
    env = {**os.environ, "RABBET_NUM_CPU_DEVICES": devices[1], "RABBET_PLATFORMS": "cpu"}
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
    return None


def run(page):
    """Run the programs of a page in one namespace."""
    namespace = {"__name__": "page"}
    for line, code, shown in programs(page):
        printed = io.StringIO()
        padded = "\n" * (line - 1) + code  # so that a traceback names the page's own line
        with contextlib.redirect_stdout(printed):
            exec(compile(padded, str(page), "exec"), namespace)
        if shown is not None:
            assert printed.getvalue() == shown, f"{page.relative_to(ROOT)}:{line}"


def test_the_tutorial_shows_programs():
    assert len(list(programs(ROOT / "docs" / "tutorial.md"))) > 12
