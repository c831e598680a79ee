"""The example, in small."""

import math
from pathlib import Path

import pytest
from rabbet import planning
from rabbet_plan.programs import load

EXAMPLE = Path(__file__).parents[4] / "examples/planning/transformer.py"


@pytest.mark.needs("cpu", "numpy", "grad")
@pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are in the repository")
def test_a_transformer_in_three_layouts():
    program = load(str(EXAMPLE))
    sizes = program.function.__globals__["Sizes"](2, 64, 4, 128, 256, 8, 16)
    mesh = planning.topology("cpu:4").mesh({"data": 2, "model": 2})
    found = {}
    for layout in program.layouts:
        step, args = program.function(mesh, layout, sizes)
        found[layout] = planning.plan(step, *args)
    arguments = {layout: p.memory.arguments for layout, p in found.items()}
    assert arguments["fsdp"] < arguments["tensor"] < arguments["replicated"]
    assert all(p.memory.aliased > 0 for p in found.values())
    # Data parallel alone: every weight's gradient is summed over the data, and nothing else is sent.
    weights = sum([math.prod(a.shape) * 4 for a in args[0].values()])
    summed = found["replicated"].bytes_by_axis()[("data",)]
    assert weights <= summed < 1.3 * weights
    assert found["tensor"].bytes_by_axis()[("model",)] > 0
    # Weights that are cut over the data are gathered forward and backward, and their gradients summed. Values
    # between layers stay where they are: the rest is what `tensor` sends.
    sent = found["fsdp"].bytes_by_axis()
    assert sent.pop(("data",)) <= 1.01 * 3 * weights / mesh.shape["model"]
    of_tensor = found["tensor"].bytes_by_axis()[("model",)]
    assert sent.keys() == {("model",)} and sent[("model",)] <= 1.01 * of_tensor
