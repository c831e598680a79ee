"""Which platform is compiled for: the one that RABBET_AOT names. These tests take minutes, so they are asked
for: `tox run -e aot-tpu` and `tox run -e aot-cuda`.
"""

import os
import sys
from pathlib import Path

import pytest

# For the modules that these tests share with tools/write/platforms.py.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def platform():
    named = os.environ.get("RABBET_AOT")
    if not named:
        pytest.skip("compiling for hardware elsewhere takes minutes: tox run -e aot-tpu, aot-cuda")
    return named
