"""The last dimension of a grid written out on the CPU: what goes away, what stays, and that values stay."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet.experimental.pallas import tpu
from rabbet_pallas import unrolled_grids

pytestmark = pytest.mark.needs("jit", "vmap", "grad", "numpy")
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(8, 12)).astype("float32"), RNG.normal(size=(12, 8)).astype("float32")


def product(x, y, in_scratch=True, semantics=("parallel", "parallel", "arbitrary")):
    """A product in blocks of 4, summed up in scratch, or in the result itself."""

    def kernel(x, y, out, *scratch):
        total = scratch[0] if scratch else out

        @pl.when(pl.program_id(2) == 0)
        def _():
            total[...] = rnp.zeros((4, 4), "float32")

        total[...] += x[...] @ y[...]
        if scratch:

            @pl.when(pl.program_id(2) == x_blocks - 1)
            def _():
                out[...] = total[...]

    x_blocks = x.shape[1] // 4
    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((x.shape[0], y.shape[1]), "float32"),
        grid=(x.shape[0] // 4, y.shape[1] // 4, x_blocks),
        in_specs=[pl.BlockSpec((4, 4), lambda i, j, k: (i, k)), pl.BlockSpec((4, 4), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((4, 4), lambda i, j, k: (i, j)),
        scratch_shapes=[tpu.VMEM((4, 4), "float32")] if in_scratch else [],
        compiler_params=tpu.CompilerParams(dimension_semantics=semantics),
    )(x, y)  # fmt: skip


def text(f, *args):
    return rb.jit(f).lower(*args).as_text()


@pytest.mark.parametrize("in_scratch", [True, False])
def test_sums_along_the_last_dimension(in_scratch):
    f = lambda x, y: product(x, y, in_scratch)
    lowered = text(f, X, Y)
    assert "while" not in lowered and "case" not in lowered
    assert lowered.count("dot_general") == 1  # the product itself: see test_merged_products.py
    np.testing.assert_allclose(rb.jit(f)(X, Y), X @ Y, rtol=1e-5, atol=1e-5)
    loss = lambda x, y: (f(x, y) ** 2).sum()
    for a, b in zip(
        rb.jit(rb.grad(loss, (0, 1)))(X, Y), (2 * (X @ Y) @ Y.T, 2 * X.T @ (X @ Y)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_other_dimensions_in_order_stay_loops():
    f = lambda x, y: product(x, y, semantics=("arbitrary",) * 3)
    np.testing.assert_allclose(rb.jit(f)(X, Y), X @ Y, rtol=1e-5, atol=1e-5)


def test_many_programs_stay_a_loop():
    x = RNG.normal(size=(36, 4)).astype("float32")
    sums = lambda x: running(x, True, blocks=9)
    assert "while" in text(sums, x)
    np.testing.assert_allclose(rb.jit(sums)(x), x.reshape(2, 18, 4).sum(1), rtol=1e-5, atol=1e-5)


def running(x, first_fills, blocks=3):
    """Sums of rows so far, over all blocks: scratch that outlives the last dimension, or is filled anew."""

    def kernel(x, out, total):
        at = pl.program_id(1) if first_fills else pl.program_id(0) + pl.program_id(1)

        @pl.when(at == 0)
        def _():
            total[...] = rnp.zeros((1, 4), "float32")

        total[...] += rnp.sum(x[...], 0, keepdims=True)

        @pl.when(pl.program_id(1) == blocks - 1)
        def _():
            out[...] = total[...]

    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((2, 4), "float32"), grid=(2, blocks),
        in_specs=[pl.BlockSpec((2, 4), lambda i, k: (blocks * i + k, 0))],
        out_specs=pl.BlockSpec((1, 4), lambda i, k: (i, 0)), scratch_shapes=[tpu.VMEM((1, 4), "float32")],
    )(x)  # fmt: skip


@pytest.mark.parametrize("first_fills", [True, False])
def test_scratch_that_outlives_a_block(first_fills):
    x = RNG.normal(size=(12, 4)).astype("float32")
    sums = x.reshape(2, 6, 4).sum(1)
    wanted = sums if first_fills else np.cumsum(sums, 0)
    found = rb.jit(running, static_argnums=1)(x, first_fills)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_results_of_each_program_and_printing_stay():
    """Blocks of results that go with the last dimension, and effects, are left alone."""

    def kernel(x, out):
        out[...] = x[...] * rnp.where(pl.program_id(0) == 0, 2.0, 3.0)

    block = pl.BlockSpec((2, 4), lambda i: (i, 0))
    x, struct = np.ones((6, 4), "float32"), rb.ShapeDtypeStruct((6, 4), "float32")
    f = pl.pallas_call(kernel, struct, grid=3, in_specs=[block], out_specs=block)
    np.testing.assert_array_equal(rb.jit(f)(x)[:, 0], [2, 2, 3, 3, 3, 3])


def test_what_is_known_of_numbers():
    branch = lambda k, x: rb.lax.cond(k * 2 + 1 >= 3, rb.lax.sin, rb.lax.cos, x)
    program = rb.make_jaxpr(branch)(np.int32(0), 1.0).jaxpr
    for k, name in ((0, "cos"), (1, "sin")):
        found = unrolled_grids.specialised(program, {program.invars[0]: k})
        assert [e.op.primitive.name for e in found.equations] == [name]
