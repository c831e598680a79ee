"""examples/large: a decoder trained in each layout has the losses that it has on one device."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[5] / "examples/large/train.py"
QUICK = "pipeline"


@pytest.fixture(scope="module")
def train():
    if not PROGRAM.exists():
        pytest.skip("the examples are in the repository")
    spec = importlib.util.spec_from_file_location("large_train", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules["large_train"] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def test_a_pipeline(train):
    row, apart = train.compared(QUICK, 2, 1e10)
    assert apart < 1e-5 and "stage" in row and "%" in row
    # Weights' gradients are summed over `data` once, behind the loop over rounds: not in each of the 11.
    sent = dict(re.findall(r"(\w+) (\d+\.\d+)", row.split("%")[1]))
    sizes = train.LAYOUTS[QUICK].sizes
    words = sizes.words * sizes.width
    of_a_device = 4 * ((sizes.parameters - words) / sizes.stages + words)
    assert 0.9 * of_a_device < 1e6 * float(sent["data"]) < 2 * of_a_device


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["data", "zero", "fsdp", "tensor", "sequence", "mixed", "experts"])
def test_the_other_layouts(train, name):
    row, apart = train.compared(name, 2, 1e10)
    assert apart < 1e-5 and row.startswith(name)
