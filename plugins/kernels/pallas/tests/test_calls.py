"""Kernels against plain programs: blocks, scratch, derivatives, maps."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import tpu


def matmul(x, y, block=4):
    """A product by blocks, summed up in scratch."""
    (m, k), n = x.shape, y.shape[1]

    def kernel(x, y, out, total):
        @pl.when(pl.program_id(2) == 0)
        def _():
            total[...] = rnp.zeros((block, block), "float32")

        total[...] += x[...] @ y[...]

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            out[...] = total[...]

    return pl.pallas_call(
        kernel,
        rb.ShapeDtypeStruct((m, n), "float32"),
        grid=(m // block, n // block, k // block),
        in_specs=[
            pl.BlockSpec((block, block), lambda i, j, k: (i, k)),
            pl.BlockSpec((block, block), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((block, block), lambda i, j, k: (i, j)),
        scratch_shapes=[tpu.VMEM((block, block), "float32")],
    )(x, y)


@pytest.fixture
def pair():
    random = np.random.default_rng(0)
    return [rnp.asarray(random.normal(size=s).astype("float32")) for s in ((8, 12), (12, 4))]


def test_a_product_by_blocks(pair):
    np.testing.assert_allclose(matmul(*pair), pair[0] @ pair[1], rtol=1e-5, atol=1e-5)


def test_its_derivatives(pair):
    loss = lambda product: lambda x, y: (product(x, y) ** 2).sum()
    for mode in (rb.jacfwd, rb.grad):
        found = mode(loss(matmul), (0, 1))(*pair)
        wanted = mode(loss(lambda x, y: x @ y), (0, 1))(*pair)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_a_program_shows_its_kernel(pair):
    text = str(rb.make_jaxpr(matmul)(*pair))
    assert "call=kernel(grid=(2, 1, 3))" in text and "call.kernel={" in text and "dot_general" in text
