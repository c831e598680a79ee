"""Products of 8-bit numbers, and numbers of fewer bits, as they are written for a GPU."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = pytest.mark.needs("cpu", "jit", "numpy")


@pytest.mark.parametrize(
    "dtype, terms, summed",
    [
        ("int8", 6, 8),
        ("uint8", 7, 8),
        ("int8", 8, 8),
        ("int32", 6, 6),
        pytest.param("float8_e5m2", 4, 16, marks=pytest.mark.needs("float8_e4m3fn")),
        pytest.param("float8_e4m3fn", 32, 32, marks=pytest.mark.needs("float8_e4m3fn")),
        ("bool", 6, 6),
    ],
)
def test_numbers_of_terms_that_are_summed_rightly(dtype, terms, summed):
    shapes = [rb.ShapeDtypeStruct(s, dtype) for s in [(5, terms), (terms, 3)]]
    f = rb.jit(lambda x, y: lax.dot(x, y, preferred_element_type=np.float32 if "f" in dtype else np.int32))
    text = f.trace(*shapes).lower(platforms=("cuda",)).as_text()
    (line,) = [line for line in text.splitlines() if "dot_general" in line]
    assert f"tensor<5x{summed}x" in line and f"tensor<{summed}x3x" in line


@pytest.mark.needs("int4")
def test_negative_padding_of_numbers_of_few_bits_goes_by_bytes():
    f = rb.jit(lambda x: lax.pad(x, x.dtype.type(0), [(-1, 2, 0)]))
    text = f.trace(rb.ShapeDtypeStruct((6,), "int4")).lower(platforms=("cuda",)).as_text()
    assert "(tensor<6xi8>, tensor<i8>) -> tensor<7xi8>" in text


@pytest.mark.needs("float8_e4m3fn")
@pytest.mark.parametrize("dtype, apart", [("float8_e4m3fn", 1), ("float4_e2m1fn", 1), ("bfloat16", 0)])
def test_what_is_quantized_loses_its_digits(dtype, apart):
    """XLA for GPUs leaves conversions there and back out, which a barrier prevents."""
    f = rb.jit(lambda x: x.astype(dtype).astype("float32"))
    text = f.trace(rb.ShapeDtypeStruct((6,), "float32")).lower(platforms=("cuda",)).as_text()
    assert text.count("stablehlo.optimization_barrier") == apart
