"""The tests in ``many`` need eight devices, so each of its files runs in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MANY = Path(__file__).parent / "many"
NO_TESTS = pytest.ExitCode.NO_TESTS_COLLECTED  # where marks leave none of a file
ENVIRONMENT = {"RABBET_NUM_CPU_DEVICES": "8", "RABBET_PLATFORMS": "cpu"}


@pytest.mark.needs("cpu", "jit", "grad", "vmap", "numpy")
@pytest.mark.rows(100)
@pytest.mark.parametrize("path", sorted(MANY.glob("test_*.py")), ids=lambda path: path.stem)
def test_on_eight_devices(path, request):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--no-header", str(path)]
    chosen = request.config.getoption("markexpr").split(" and ")
    command += ["-m", " and ".join([mark for mark in chosen if mark in ("not exhaustive", "not library")])]
    env = {**os.environ, **ENVIRONMENT}
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_CURRENT_TEST"):
        env.pop(name, None)
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode in (0, NO_TESTS), ran.stdout[-8000:] + ran.stderr[-2000:]
