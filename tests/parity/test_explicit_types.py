"""Types and shardings of results over Explicit axes of eight devices, beside jax's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("explicit_types.py")


def test_results_over_explicit_axes_have_jaxs_types():
    pytest.importorskip("jax")
    ran = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    assert "differs" not in ran.stdout, ran.stdout
    assert "compared" in ran.stdout
