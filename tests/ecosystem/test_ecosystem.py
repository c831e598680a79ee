"""Programs on libraries written for JAX print the same numbers under JAX and served by Rabbet."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
# What the programs print under JAX, for environments without it (`tools/check/fresh_libraries.py`). The Monte
# Carlo error of the two posteriors is about 0.01.
PRINTED = json.loads((HERE / "printed.json").read_text())


def printed(*command):
    ran = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return np.array(ran.stdout.strip().splitlines()[-1].split(), float)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_same_numbers(program):
    pytest.importorskip(program.stem.partition("_")[0])
    record = PRINTED[program.stem]
    tolerance = record["tolerance"]
    found, wanted = printed("-m", "rabbet_jax", program), printed(program)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(wanted, record["printed"], rtol=tolerance, atol=tolerance)
