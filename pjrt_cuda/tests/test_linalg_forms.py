"""Linear algebra as it is written for a GPU."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "lax.linalg")


def text_for_a_gpu(f, *shapes):
    types = [rb.ShapeDtypeStruct(s, np.float32) for s in shapes]
    return rb.jit(f).trace(*types).lower(platforms=("cuda",)).as_text()


@pytest.mark.parametrize("rows, called", [(1, 3), (2, 3), (3, 3), (5, 5)])
def test_tridiagonal_systems_of_less_than_three_rows(rows, called):
    text = text_for_a_gpu(lax.linalg.tridiagonal_solve, *[(4, rows)] * 3, (4, rows, 2))
    (line,) = [line for line in text.splitlines() if "cusparse_gtsv2_ffi" in line]
    assert f"tensor<4x{called}x2xf32>" in line and f"-> (tensor<4x{rows}x2xf32>)" in text


@pytest.mark.parametrize("f", [lax.linalg.svd, lax.linalg.eigh])
def test_matrices_are_looked_through_for_numbers_that_are_not_finite(f):
    assert text_for_a_gpu(f, (5, 3, 3)).count("stablehlo.is_finite") == 1
