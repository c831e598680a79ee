"""Kernels that this target writes give what they give without it, and it refuses what it cannot write."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.errors import NotOfferedError
from rabbet.experimental import pallas as pl
from rabbet_unrolled import Params


def total(x, params=None):
    """Sums of blocks of rows, gathered in one row."""

    def kernel(x, out):
        @pl.when(pl.program_id(0) == 0)
        def _():
            out[...] = rnp.zeros((4,), "float32")

        out[...] += rnp.sum(x[...], axis=0)

    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((4,), "float32"), grid=(len(x) // 2,),
        in_specs=[pl.BlockSpec((2, 4), lambda i: (i, 0))], out_specs=pl.BlockSpec((4,), lambda i: (0,)),
        compiler_params=params,
    )(x)  # fmt: skip


X = np.arange(24, dtype=np.float32).reshape(6, 4)


def test_it_computes_what_the_language_computes():
    np.testing.assert_array_equal(rb.jit(total)(X), X.sum(0))
    np.testing.assert_array_equal(rb.jit(lambda x: total(x, Params()))(X), X.sum(0))


def test_it_is_what_writes_the_kernel():
    many = np.ones((48, 4), np.float32)  # few programs are written out by the language itself
    text = rb.jit(lambda x: total(x, Params())).trace(many).lower().as_text()
    assert "while" not in text
    assert "while" in rb.jit(total).trace(many).lower().as_text()


def test_it_refuses_large_grids_by_name():
    with pytest.raises(NotOfferedError, match="a grid of"):
        rb.jit(lambda x: total(x, Params(most=2))).trace(X).lower()
