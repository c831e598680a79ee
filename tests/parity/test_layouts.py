"""What training steps send, laid over eight devices: at most the bytes that they send under JAX.

``tools/write/collectives.py`` makes the table in docs/collectives.md of the same programs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("layouts.py")
QUICK = ["log_sum_exp", "experts", "lstm", "ranking"]


def rows(which, names):
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), which, *names], capture_output=True, text=True, timeout=300,
        check=False, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]
    return {name: sum([size for _, size in kinds.values()]) for name, kinds, _ in found}


def compared(names):
    pytest.importorskip("jax")
    ours, theirs = rows("rabbet", names), rows("jax", names)
    assert ours and ours.keys() == theirs.keys()
    for name, size in ours.items():
        assert size <= theirs[name], (name, size, theirs[name])


def test_no_layout_sends_more():
    compared(QUICK)


@pytest.mark.exhaustive
def test_no_layout_of_all_sends_more():
    compared([])
