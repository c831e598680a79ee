"""What training steps send and hold, laid over eight devices: at most what they do under JAX.

``tools/write/collectives.py`` makes the table in docs/collectives.md of the same programs.
"""

import json
import os
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("layouts.py")
QUICK = ("log_sum_exp", "experts", "lstm", "ranking")


@cache
def rows(which, names):
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), which, *names], capture_output=True, text=True, timeout=300,
        check=False, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]
    return {name: (sum([size for _, size in kinds.values()]), memory) for name, kinds, memory in found}


def compared(names):
    """Bytes that are sent, and temporary memory."""
    pytest.importorskip("jax")
    ours, theirs = rows("rabbet", names), rows("jax", names)
    assert ours and ours.keys() == theirs.keys()
    for name, taken in ours.items():
        for here, there in zip(taken, theirs[name], strict=True):
            assert here <= there, (name, taken, theirs[name])


def test_no_layout_sends_more():
    compared(QUICK)


def test_the_page_says_so():
    """Its rows are those that are counted, where they were made with this compiler."""
    page = (PROGRAM.parents[2] / "docs/collectives.md").read_text()
    if f"jaxlib {version('jaxlib')};" not in page:
        pytest.skip("the page was made with another version of jaxlib")
    table = page.partition("## cpu:8")[2].partition("## ")[0]
    for name, (size, _) in rows("rabbet", QUICK).items():
        (line,) = [line for line in table.splitlines() if line.startswith(f"| {name} |")]
        assert line.split("|")[3].strip() == f"{size:,}", line


@pytest.mark.exhaustive
def test_no_layout_of_all_sends_more():
    compared(())
