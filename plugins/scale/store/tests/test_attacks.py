"""A few runs of the programs that kill writers and damage checkpoints; `tox run -e checkpoints` does
thousands.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb

pytest.importorskip("rabbet.store")
pytestmark = [pytest.mark.needs("cpu"), pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("program, runs", [("crashes", 9), ("damages", 40), ("damages_orbax", 40)])
def test_a_few(program, runs):
    if program != "crashes":
        pytest.importorskip("rabbet.random")  # its states have keys
    if program == "damages_orbax":
        pytest.importorskip("rabbet_bfloat16")  # its checkpoint has such an array
    done = subprocess.run(
        [sys.executable, PROGRAMS / f"{program}.py", "--runs", str(runs), "--seed", "5"], capture_output=True,
        text=True, env={**os.environ, "RABBET_PLATFORMS": "cpu"}, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{runs} runs:" in done.stdout


def test_folders_of_steps_that_changed_places(tmp_path):
    checkpoints = rb.store.Checkpoints(tmp_path)
    for step in (1, 2):
        checkpoints.save(step, {"a": np.full(3, float(step))}, wait=True)
    one, two = checkpoints.path(1), checkpoints.path(2)
    one.rename(tmp_path / "between")
    two.rename(one)
    for read in (checkpoints.load, checkpoints.verify):
        with pytest.raises(rb.store.CheckpointError, match="was saved as step 2"):
            read(1)
    one.rename(two)
    assert checkpoints.load(2)["a"].tolist() == [2.0] * 3
