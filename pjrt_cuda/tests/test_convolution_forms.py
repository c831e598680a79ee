"""Convolutions that are written as those of real numbers: the same numbers as the CPU's own."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet_pjrt_cuda.lowering import convolutions

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "lax.conv_general_dilated")

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def drawn(shape, dtype, rng):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        range_ = np.iinfo(dtype)
        return rng.integers(range_.min, range_.max, shape, dtype, endpoint=True)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", "complex64", "complex128"])
def test_the_numbers_are_those_of_the_convolution(dtype, wide):
    if not wide and dtype in ("int64", "uint64", "complex128"):
        pytest.skip("narrowed where 64 bits are off")
    rng = np.random.default_rng(0)
    with rb.enable_x64(wide):
        x, w = rb.device_put(drawn((2, 3, 5, 5), dtype, rng)), rb.device_put(drawn((4, 3, 3, 3), dtype, rng))
        convolve = lambda x, w: lax.conv_general_dilated(x, w, (1, 2), "SAME")
        (eqn,) = rb.make_jaxpr(convolve)(x, w).jaxpr.eqns
        form = convolutions.FORMS[np.dtype(dtype).kind]
        got = rb.jit(lambda x, w: form(eqn.primitive, eqn.params, x.dtype, x, w))(x, w)
        wanted = convolve(x, w)
    assert got.dtype == wanted.dtype
    if np.dtype(dtype).kind == "c":
        np.testing.assert_allclose(got, wanted, rtol=1e-4 if dtype == "complex64" else 1e-12, atol=1e-5)
    else:
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype, count", [("uint8", 1), ("int32", 3), ("complex64", 4), ("float32", 1)])
def test_what_is_written_for_a_gpu(dtype, count):
    shapes = [rb.ShapeDtypeStruct(s, dtype) for s in [(1, 2, 6, 6), (2, 2, 3, 3)]]
    f = rb.jit(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "VALID"))
    text = f.trace(*shapes).lower(platforms=("cuda",)).as_text()
    assert text.count("stablehlo.convolution") == count
    types = {"uint8": "f64", "int32": "f64"}.get(dtype, "f32")
    assert all(f"x{types}>" in line for line in text.splitlines() if "stablehlo.convolution" in line)
