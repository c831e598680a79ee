"""Mistakes of those who write their first kernels: each is named, with what to write instead."""

import re

import numpy as np
import pytest
import rabbet as rb
import rabbet.experimental.pallas as pl
from rabbet.experimental.pallas import tpu

pytestmark = pytest.mark.needs("numpy")
X = np.ones((8, 16), "float32")
OUT = rb.ShapeDtypeStruct((8, 16), "float32")
ROWS = pl.BlockSpec((4, 16), lambda i: (i, 0))
PARALLEL = tpu.CompilerParams(dimension_semantics=("parallel",))
BY_TWO = pl.BlockSpec((pl.Element(4), pl.Element(16)), lambda i: (i * 2, 0))


def copy(x, out):
    out[...] = x[...]


def in_rows(kernel=copy, out=OUT, ins=(ROWS,), outs=ROWS, grid=2, **more):
    return lambda: pl.pallas_call(kernel, out, grid=grid, in_specs=list(ins), out_specs=outs, **more)(X)


def whole(kernel, out=OUT):
    return lambda: pl.pallas_call(kernel, out)(X)


def writing(value):
    """A kernel that writes ``value(x)``."""

    def kernel(x, out):
        out[...] = value(x)

    return kernel


def without_result(x):
    pass


def with_a_value(x, out):
    return x[...]


MISTAKES = {
    "no dtype": (whole(copy, (8, 16)), TypeError, "out_shape has 8, which has no shape and dtype"),
    "parameters": (whole(without_result), TypeError, "kernel 'without_result' (x) is given references: 1"),
    "a value returned": (whole(with_a_value), TypeError, "returns"),
    "a reference as a value": (whole(writing(lambda x: x * 2)), TypeError, "arithmetic with Ref{f32[8,16]}"),
    "a value's shape": (
        whole(writing(lambda x: x[0])), ValueError,
        "shape (16,) cannot be written to a reference of shape (8, 16)",
    ),
    "a value's dtype": (
        whole(writing(lambda x: x[...]), rb.ShapeDtypeStruct((8, 16), "int32")), ValueError,
        "float32 cannot be written to a reference of int32",
    ),
    "an index": (whole(writing(lambda x: x[9])), IndexError, "index 9 is out of range for dimension 0"),
    "a part": (whole(writing(lambda x: x[pl.ds(4, 8), :])), IndexError, "ds(4, 8) goes from 4 to 11"),
    "a part behind dots": (
        whole(writing(lambda x: x[..., pl.ds(0, 9, stride=2)])), IndexError,
        "goes from 0 to 16, out of range for dimension 1",
    ),
    "indices": (whole(writing(lambda x: x[0, 0, 0])), IndexError, "cannot be indexed by (0, 0, 0)"),
    "a block's rank": (
        in_rows(ins=[pl.BlockSpec((4,), lambda i: (i,))]), ValueError, "block_shape (4,) has 1 dim",
    ),
    "an index map's parameters": (
        in_rows(grid=(2, 1)), TypeError, "operand 0: its index_map (i) is given 2 indices of the grid",
    ),
    "an index map's results": (
        in_rows(ins=[pl.BlockSpec((4, 16), lambda i: i)]), ValueError,
        "index_map returned 1 indices for a block of 2",
    ),
    "elements for blocks": (
        in_rows(ins=[pl.BlockSpec((4, 16), lambda i: (i * 4, 0))]), ValueError,
        "index_map gives block 4 along dimension 0 to program (1,); blocks from 0 to 1 are there",
    ),
    "one block of two": (
        in_rows(outs=pl.BlockSpec((4, 16), lambda i: (0, 0)), compiler_params=PARALLEL), ValueError,
        "result 0: programs (0,) and (1,) write one block",
    ),
    "blocks that overlap": (
        in_rows(ins=[BY_TWO], outs=BY_TWO, compiler_params=PARALLEL), ValueError,
        "result 0: the blocks of programs (0,) and (1,) overlap",
    ),
    "specs": (in_rows(outs=[ROWS, ROWS], out=[OUT]), ValueError, "out_specs has 2 entries"),
    "a grid of floats": (in_rows(grid=8 / 4), TypeError, "computed or not, got 2.0"),
    "an axis": (
        whole(writing(lambda x: x[...] * pl.program_id(1))), ValueError, "program_id(1): the grid has 0",
    ),
    "an empty block": (
        in_rows(ins=[pl.BlockSpec((0, 16), lambda i: (i, 0))]), ValueError, "block_shape has the size 0",
    ),
    "aliases": (in_rows(input_output_aliases={3: 0}), ValueError, "input_output_aliases has 3: 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name):
    call, error, said = MISTAKES[name]
    with pytest.raises(error, match=re.escape(said)) as caught:
        call()
    told = str(caught.value)
    assert "to fix" in told or name in ("an index", "an axis"), told


def test_blocks_that_overlap_in_order():
    """Programs that run one after the other may: the last one counts."""
    out = in_rows(ins=[BY_TWO], outs=BY_TWO)()
    np.testing.assert_array_equal(out[:6], X[:6])


def test_fields_of_a_grid_are_checked_where_they_are_given():
    for fields, said in (
        ({"grid": "nonsense"}, "grid must be an integer or a tuple of integers"),
        ({"grid": (1.5,)}, "grid must be an integer"),
        ({"grid": None}, "grid must be an integer"),
        ({"in_specs": None}, "in_specs must be a tuple or a list"),
        ({"in_specs": ROWS}, "in_specs must be a tuple or a list"),
        ({"scratch_shapes": None}, "scratch_shapes must be a tuple, a list or a dict"),
    ):
        for make in (pl.GridSpec, lambda **f: tpu.PrefetchScalarGridSpec(1, **f)):
            with pytest.raises(ValueError, match=f"GridSpec: {said}"):
                make(**fields)
    with pytest.raises(TypeError, match=r"num_scalar_prefetch must be an integer, got float 1\.5"):
        tpu.PrefetchScalarGridSpec(1.5)
    with pytest.raises(TypeError, match=r"input_output_aliases must be a dict \{operand: result\}, got None"):
        pl.pallas_call(copy, OUT, input_output_aliases=None)
    for ins, outs in (([None], ROWS), ([ROWS], None)):
        with pytest.raises(ValueError, match=r"_specs(\[0\])? is None\n  to fix: a BlockSpec; BlockSpec\(\)"):
            pl.pallas_call(copy, OUT, grid=2, in_specs=ins, out_specs=outs)(X)
