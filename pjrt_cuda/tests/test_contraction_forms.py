"""Products of 8-bit integers as they are written for a GPU."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = pytest.mark.needs("cpu", "jit", "numpy")


@pytest.mark.parametrize(
    "dtype, terms, summed", [("int8", 6, 8), ("uint8", 7, 8), ("int8", 8, 8), ("int32", 6, 6)]
)
def test_sums_of_a_multiple_of_four_terms(dtype, terms, summed):
    shapes = [rb.ShapeDtypeStruct(s, dtype) for s in [(5, terms), (terms, 3)]]
    f = rb.jit(lambda x, y: lax.dot(x, y, preferred_element_type=np.int32))
    text = f.trace(*shapes).lower(platforms=("cuda",)).as_text()
    (line,) = [line for line in text.splitlines() if "dot_general" in line]
    assert f"tensor<5x{summed}x" in line and f"tensor<{summed}x3x" in line
