"""Products of programs that are cut up over devices: those whose operands change places give the same."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.sharding import NamedSharding, PartitionSpec

random = np.random.default_rng(0)
GRADIENT = (((0, 1), (0, 1)), ((), ()))
ATTENTION = (((3,), (1,)), ((0, 1), (0, 2)))
CASES = {
    "gradient": (GRADIENT, (8, 6, 5), (8, 6, 7), "contracting_dims = [1, 2] x [0, 1]", "-> tensor<7x5xf32>"),
    "three sums": (
        (((0, 1, 2), (0, 1, 2)), ((), ())), (8, 3, 2, 5), (8, 3, 2, 4, 7), "[2, 3, 4] x [0, 1, 2]",
        "-> tensor<4x7x5xf32>",
    ),
    "attention": (
        ATTENTION, (8, 2, 5, 6), (8, 6, 2, 7), "batching_dims = [0, 2] x [0, 1]", "-> tensor<8x2x7x5xf32>",
    ),
    "several free": (
        ATTENTION, (8, 2, 3, 6), (8, 6, 2, 7, 4), "batching_dims = [0, 2] x [0, 1]", "<8x2x7x4x3xf32>",
    ),
}  # fmt: skip


def cut(x):
    mesh = rb.make_mesh((8,), ("i",), devices=rb.devices("cpu"))
    return rb.device_put(x, NamedSharding(mesh, PartitionSpec("i")))


def arrays(x, y):
    return [random.normal(size=shape).astype("float32") for shape in (x, y)]


@pytest.mark.parametrize("case", CASES)
def test_operands_change_places_and_results_stay(case):
    numbers, *shapes, numbered, result = CASES[case]
    x, y = arrays(*shapes)
    f = rb.jit(lambda x, y: lax.dot_general(x, y, numbers, precision=("highest", "default")))
    text = f.lower(cut(x), cut(y)).as_text()
    (line,) = [line for line in text.splitlines() if "dot_general" in line]
    assert numbered in line and result in line and "precision = [DEFAULT, HIGHEST]" in line
    here = f.lower(x, y).as_text()
    assert result not in here and "precision = [HIGHEST, DEFAULT]" in here
    np.testing.assert_allclose(f(cut(x), cut(y)), f(x, y), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("numbers", "x", "y"),
    [
        ((((1,), (0,)), ((), ())), (8, 6), (6, 7)),
        ((((0, 1), (0, 1)), ((), ())), (8, 6, 5), (8, 6)),
        ((((3,), (2,)), ((0, 1), (0, 1))), (8, 2, 5, 6), (8, 2, 6, 7)),
        ((((3,), (3,)), ((0, 1), (0, 2))), (8, 2, 5, 6), (8, 7, 2, 6)),
        ((((2,), (1,)), ((0, 1), (0, 2))), (8, 2, 6, 5), (8, 6, 2, 7)),
    ],
)
def test_others_stay(numbers, x, y):
    """Operands that XLA reads as they lie, one whose copies differ, and a first one that is copied, too."""
    f = rb.jit(lambda x, y: lax.dot_general(x, y, numbers, precision=("highest", "default")))
    x, y = arrays(x, y)
    assert "precision = [HIGHEST, DEFAULT]" in f.lower(cut(x), y).as_text()
