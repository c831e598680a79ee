"""A few runs of the programs that kill writers and damage checkpoints; `tox run -e checkpoints` does
thousands.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rabbet.store")
pytestmark = [pytest.mark.needs("cpu"), pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("program, runs", [("crashes", 9), ("damages", 40)])
def test_a_few(program, runs):
    if program == "damages":
        pytest.importorskip("rabbet.random")  # its states have keys
    done = subprocess.run(
        [sys.executable, PROGRAMS / f"{program}.py", "--runs", str(runs), "--seed", "5"], capture_output=True,
        text=True, env={**os.environ, "RABBET_PLATFORMS": "cpu"}, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{runs} runs:" in done.stdout
