"""Programs on libraries written for JAX print the same numbers under JAX and served by Rabbet."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))
TOLERANCE = {"numpyro_posterior": 0.1, "blackjax_nuts": 0.1}  # Monte Carlo error is about 0.01


def printed(*command):
    ran = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return np.array(ran.stdout.strip().splitlines()[-1].split(), float)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_same_numbers(program):
    pytest.importorskip(program.stem.partition("_")[0])
    tolerance = TOLERANCE.get(program.stem, 1e-4)
    found, wanted = printed("-m", "rabbet_jax", program), printed(program)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
