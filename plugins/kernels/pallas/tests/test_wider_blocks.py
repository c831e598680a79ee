"""Grids that the CPU does not need: which dimensions go away, and that nothing else changes."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import tpu
from rabbet_pallas import grids, wider_blocks

X = np.random.default_rng(0).normal(size=(8, 6)).astype("float32")
ROWS = pl.BlockSpec((2, 6), lambda i: (i, 0))
ONE = pl.BlockSpec((1, 6), lambda i: (0, 0))
CELLS = pl.BlockSpec((2, 3), lambda i, j: (i, j))


def softmax(x, out):
    e = rnp.exp(x[...] - rnp.max(x[...], axis=1, keepdims=True))
    out[...] = e / e.sum(1, keepdims=True)


def norm(x, w, out):
    d = x[...] - rnp.mean(x[...], axis=1, keepdims=True)
    out[...] = d * w[...]


def product(x, y, out):
    out[...] = x[...] @ y[...].T


def turned(x, out):
    out[...] = x[...].T * 2


def by_place(x, out):
    out[...] = x[...] + lax.broadcasted_iota("float32", (2, 6), 0)


def by_program(x, out):
    out[...] = x[...] + pl.program_id(0)


def sum_of_rows(x, out):
    out[...] = x[...] - x[...].sum(0, keepdims=True)


def parts(x, out):
    out[...] = x[...]
    out[pl.ds(0, 1), :] = rnp.zeros((1, 6))


def branch(x, out):
    @pl.when(x[0, 0] > 0)
    def _():
        out[...] = x[...]


# kernel, grid, blocks of operands, block of the result, what is left of the grid
CASES = {
    "sums along the other dimension": (softmax, (4,), [ROWS], ROWS, ()),
    "an operand that all share": (norm, (4,), [ROWS, ONE], ROWS, ()),
    "both dimensions": (lambda x, out: out.set(rnp.sin(x[...])), (4, 2), [CELLS], CELLS, ()),
    "a product": (
        product, (4, 4),
        [pl.BlockSpec((2, 6), lambda i, j: (i, 0)), pl.BlockSpec((2, 6), lambda i, j: (j, 0))],
        pl.BlockSpec((2, 2), lambda i, j: (i, j)), ()),
    "turned around": (turned, (4,), [ROWS], pl.BlockSpec((6, 2), lambda i: (0, i)), ()),
    "elements that differ by place": (by_place, (4,), [ROWS], ROWS, (4,)),
    "programs that differ": (by_program, (4,), [ROWS], ROWS, (4,)),
    "sums along the dimension": (sum_of_rows, (4,), [ROWS], ROWS, (4,)),
    "parts of blocks": (parts, (4,), [ROWS], ROWS, (4,)),
    "branches": (branch, (4,), [ROWS], ROWS, (4,)),
    "blocks in another order": (
        lambda x, out: out.set(x[...]), (4,), [pl.BlockSpec((2, 6), lambda i: (3 - i, 0))], ROWS, (4,)),
    "blocks at edges": (
        lambda x, out: out.set(x[...]), (3,), [pl.BlockSpec((3, 6), lambda i: (i, 0))],
        pl.BlockSpec((3, 6), lambda i: (i, 0)), (3,)),
    "a result that all write": (
        lambda x, out: out.set(x[...]), (4,), [ROWS], pl.BlockSpec((2, 6), lambda i: (0, 0)), (4,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_of_the_grid(name):
    kernel, grid, ins, out, left = CASES[name]
    shapes = {"a product": (8, 8), "turned around": (6, 8)}
    operands = [X, X[:1] if kernel is norm else X + 1][: len(ins)]
    struct = rb.ShapeDtypeStruct(shapes.get(name, (8, 6)), "float32")
    f = pl.pallas_call(kernel, struct, grid=grid, in_specs=ins, out_specs=out)
    call = rb.make_jaxpr(f)(*operands).eqns[0].params["call"]
    wide = wider_blocks.widened(call)
    assert wide.grid == left
    given = [rnp.asarray(x) for x in operands]
    (ours,), (theirs,) = grids.run(wide, given), grids.run(call, given)
    np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(f(*operands), theirs, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("semantics", ["parallel", "arbitrary"])
def test_scratch_ties_programs_together_unless_they_are_said_to_be_parallel(semantics):
    def kernel(x, out, room):
        room[...] = x[...] * 2
        out[...] = room[...] + 1

    f = pl.pallas_call(
        kernel, rb.typeof(X), grid=4, in_specs=[ROWS], out_specs=ROWS,
        scratch_shapes=[tpu.VMEM((2, 6), "float32")],
        compiler_params=tpu.CompilerParams(dimension_semantics=(semantics,)),
    )  # fmt: skip
    call = rb.make_jaxpr(f)(X).eqns[0].params["call"]
    assert wider_blocks.widened(call).grid == (() if semantics == "parallel" else (4,))
    np.testing.assert_allclose(f(X), X * 2 + 1)


def test_nothing_becomes_larger_than_the_arrays():
    def kernel(x, out):
        far = x[...][:, :, None] * rnp.arange(100.0)[None, None]
        out[...] = far.sum(2)

    f = pl.pallas_call(kernel, rb.typeof(X), grid=4, in_specs=[ROWS], out_specs=ROWS)
    assert wider_blocks.widened(rb.make_jaxpr(f)(X).eqns[0].params["call"]).grid == (4,)
