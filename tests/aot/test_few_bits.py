"""Programs on floats of 8 to 4 bits and on ints of 4 and 2 compile for a TPU and a GPU that are not here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import results

pytestmark = pytest.mark.needs("jit", "grad", "float8_e4m3fn", "float4_e2m1fn", "int4", "int2")
SCRIPT = Path(__file__).parent / "compile_few_bits.py"


def test_programs_on_few_bits_compile(platform):
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), platform, results.TOPOLOGIES[platform]], capture_output=True, text=True,
        timeout=300, check=False, env={**os.environ, "RABBET_CACHE": "0"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    refused = [line for line in ended.stdout.splitlines() if line.startswith("refused")]
    assert not refused, "\n".join(refused)
    assert ended.stdout.count("compiled") >= 40
