"""Temporary memory of compiled functions of a million elements: at most 1.2 of what they take under JAX.

``memory.py`` tells processor time, too, which a test does not judge. What takes more is named here, and
in docs/speed.md.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("memory.py")
QUICK = (
    "argsort", "cumsum", "nanmean", "trapezoid", "trapezoid of columns", "slope of trapezoid", "slope of max",
    "einsum ijk,ijl->ikl", "slope of matmul", "nearest of a book", "select", "sort", "slope of softmax",
    "det", "attention",
)  # fmt: skip
MORE, SMALL = 1.2, 65536

SORTED = "Sorts keys that are integers, made before, in a quarter to a third of the time."
IN_STEPS = "Is reduced in steps, whose results are kept, in less than a tenth of the time."
LONGER = {
    "sort": SORTED, "sort rows": SORTED, "sort columns": SORTED, "median": SORTED, "quantile": SORTED,
    "lexsort": SORTED, "unique": SORTED, "slope of median": SORTED,
    "slope of sort rows": SORTED, "percentile of columns": SORTED,
    "argmax": IN_STEPS, "argmin": IN_STEPS, "nanargmax": IN_STEPS,
    "cumlogsumexp": "Takes a tenth of the time.",
    "top_k": "Writes each NaN without its sign first, so that it is the largest.",
    "convolve": "Takes a tenth of the time or less.",
    "correlate": "Takes a tenth of the time or less.",
    "resize": "Takes 1.5 times the memory; the time is equal.",
}  # fmt: skip


@functools.cache
def taken(which, names):
    """The bytes of each row."""
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), which, "1000000", "0", *names], capture_output=True, text=True,
        timeout=300, check=False, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    return {row[0]: row[1] for row in map(json.loads, ran.stdout.splitlines())}


def with_more(names):
    """The rows that take more than under JAX."""
    pytest.importorskip("jax")
    ours, theirs = taken("rabbet", names), taken("jax", names)
    assert ours and ours.keys() == theirs.keys() and (not names or len(ours) == len(names))
    return {name for name, size in ours.items() if size > MORE * theirs[name] + SMALL}


def test_functions_take_no_more_memory():
    assert with_more(QUICK) == {"sort"}


@pytest.mark.exhaustive
def test_no_function_of_all_takes_more_memory():
    assert with_more(()) == set(LONGER)
