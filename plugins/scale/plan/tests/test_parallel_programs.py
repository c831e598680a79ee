"""The five programs of examples/parallel: what they send is what they say, as compiled for 8 CPU devices."""

import sys
from pathlib import Path

import pytest
from rabbet import planning
from rabbet_plan.programs import load

FOLDER = Path(__file__).parents[4] / "examples/parallel"

pytestmark = [
    pytest.mark.needs("cpu", "numpy", "grad"),
    pytest.mark.skipif(not FOLDER.exists(), reason="the examples are in the repository"),
]


@pytest.mark.parametrize("name", ["data", "tensor", "sequence", "pipeline", "expert"])
def test_what_is_sent(name):
    program = load(str(FOLDER / f"{name}_parallel.py"))
    module = sys.modules[f"{name}_parallel"]
    step, arguments, _ = program.step(planning.topology("cpu:8").mesh(dict.fromkeys(program.axes, 8)))
    found: dict[str, tuple[int, int]] = {}
    for each in planning.plan(step, *arguments).exchanges:
        assert each.axes == program.axes and each.size in (8, 2)
        times, size = found.get(each.kind, (0, 0))
        found[each.kind] = (times + each.count, size + each.bytes)
    assert found == module.sends(8)
