"""The plan of a decoder's training step: parameters, gathers, products and carries worked out by hand."""

import importlib.util
import math
import os
import sys
from pathlib import Path

import pytest
from rabbet import planning
from rabbet_plan.programs import Program

pytestmark = pytest.mark.needs("cpu", "numpy", "grad", "random")
PROGRAM = Path(__file__).parents[4] / "examples/large/train.py"
LAYERS, WIDTH, HEADS, HEAD, HIDDEN, WORDS, BATCH, LENGTH = 6, 256, 4, 64, 512, 512, 8, 128


@pytest.fixture(scope="module")
def train():
    if not PROGRAM.exists():
        pytest.skip("the examples are in the repository")
    spec = importlib.util.spec_from_file_location("large_train", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules["large_train"] = module  # where dataclasses look
    before = dict(os.environ)  # the program asks for eight devices, and later tests start others
    spec.loader.exec_module(module)
    os.environ.clear()
    os.environ.update(before)
    return module


@pytest.fixture(scope="module")
def planned(train):
    sizes = train.Sizes(LAYERS, WIDTH, HEADS, HEAD, HIDDEN, 0, WORDS, BATCH, LENGTH)
    mesh = planning.topology("cpu:8").mesh({"data": 8})
    step, args = train.plan(mesh, "fsdp", "between", sizes)
    return planning.plan(step, *args), args, sizes


def test_parameters(planned):
    found, (params, _, _), sizes = planned
    count = LAYERS * (4 * WIDTH * HEADS * HEAD + 2 * WIDTH * HIDDEN) + WORDS * WIDTH
    assert count == sum([math.prod(p.shape) for p in params.values()]) == sizes.parameters
    tokens = 4 * BATCH * (LENGTH + 1)
    assert found.memory.arguments == pytest.approx((2 * 4 * count + tokens) / 8, rel=0.01)
    assert found.memory.outputs - found.memory.aliased < 1000  # all is written in place


def test_products(planned):
    """2 for each weight and token, twice that backwards, once more what is computed again, which is all but a
    layer's last product; attention's two products likewise, of the whole square.
    """
    found, _, _ = planned
    tokens = BATCH * LENGTH / 8
    weights = LAYERS * (4 * WIDTH * HEADS * HEAD + 2 * WIDTH * HIDDEN)
    attention = LAYERS * 2 * 2 * LENGTH * HEADS * HEAD * tokens
    last = LAYERS * WIDTH * HIDDEN
    by_hand = 4 * (2 * weights * tokens + attention) - 2 * last * tokens + 3 * 2 * WORDS * WIDTH * tokens
    assert found.matrix_flops == pytest.approx(by_hand, rel=0.01)


def test_collectives(planned):
    """A layer's weights are gathered forwards and once more backwards; gradients are added up once."""
    found, _, _ = planned
    layers = 4 * LAYERS * (4 * WIDTH * HEADS * HEAD + 2 * WIDTH * HIDDEN)
    within = [c for c in found.collectives if c.times == LAYERS]
    gathered = sum([c.times * c.bytes for c in within if c.kind == "all-gather"])
    assert gathered == pytest.approx(2 * layers, rel=0.05)
    # The CPU adds up a whole gradient where others scatter it: each device gets all of it.
    added = sum([c.times * c.bytes for c in within if c.kind in ("all-reduce", "reduce-scatter")])
    assert added == pytest.approx(layers, rel=0.05)


def test_carries(planned):
    """What is kept of each layer: its input."""
    found, _, _ = planned
    carry = 4 * LAYERS * BATCH // 8 * LENGTH * WIDTH
    kept = [b for b in found.buffers if b.type == f"f32[{LAYERS},{BATCH // 8},{LENGTH},{WIDTH}]"]
    assert kept and kept[0].bytes == carry


def test_each_layout_is_told_by_name(train):
    assert set(train.LAYOUTS) == {
        "data", "zero", "fsdp", "tensor", "sequence", "mixed", "experts", "pipeline"
    }  # fmt: skip
    assert train.LARGE.parameters == pytest.approx(70e9, rel=0.01)


def test_the_example_is_a_program_for_the_command(train):
    for function in (train.plan, train.large):
        program = Program(function, train.AXES, train.LAYOUTS, train.OPTIONS)
        assert program.layouts == tuple(train.LAYOUTS) and program.takes_layout
