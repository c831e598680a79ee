"""Small programs about compiling, devices, derivatives and JAX's modules tell the same in JAX and in Rabbet:
values, types, how results lie over eight devices, texts; and errors of Python's classes, where JAX refuses.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

HERE = Path(__file__).parent
PROGRAM = HERE / "system_run.py"
FILES = sorted((HERE / "system").glob("*.txt"))


def results(served, every):
    served = ["-m", "rabbet_jax"] if served else []
    ran = subprocess.run(
        [sys.executable, *served, str(PROGRAM), str(every), *map(str, FILES)],
        capture_output=True, text=True, timeout=500, check=False, env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


def agree(theirs, ours):
    if isinstance(theirs, list) and isinstance(ours, list):
        return set(theirs) <= set(ours)
    return theirs == ours


def compared(every):
    theirs, ours = results(False, every), results(True, every)
    assert theirs and theirs.keys() == ours.keys()
    differ = {name: (theirs[name], ours[name]) for name in theirs if not agree(theirs[name], ours[name])}
    assert not differ


def test_a_sample_tells_the_same():
    compared(6)


@pytest.mark.exhaustive
def test_all_tell_the_same():
    compared(1)
