"""Products by blocks of few bits: the kernel's numbers, and the product against plain operations."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import float8
from rabbet_kernels import scaled
from rabbet_kernels.scaled import scaled_matmul

pytestmark = pytest.mark.needs("jit", "vmap", "grad", "nn", "numpy")
CALL = "__gpu$xla.gpu.triton"


def quantized(mode, m=70, n=40, k=128):
    config = float8.get_scaled_dot_general_config(mode)
    random = np.random.default_rng(0)
    (x, a), (y, b) = [
        float8.quantize_blocks(random.normal(size=(2, rows, k)).astype("float32"), config) for rows in (m, n)
    ]
    return x, y, a, b


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_every_code_of_eight_bits(dtype):
    codes = np.arange(256, dtype="uint8")
    found = scaled.numbers(rnp.asarray(codes.astype("int32")), dtype)
    np.testing.assert_array_equal(found, codes.view(dtype).astype("float32"))


def test_every_code_of_four_bits():
    found = scaled.numbers(rnp.arange(16, dtype="int32"), "float4_e2m1fn").tolist()
    assert found == [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]


@pytest.mark.parametrize("mode", ["mxfp8", "mxfp4", "nvfp4"])
def test_the_kernel_against_plain_operations(mode):
    arrays = quantized(mode)
    assert scaled.supports(*arrays)
    wanted = rb.jit(float8.scaled_matmul)(*arrays)
    np.testing.assert_allclose(rb.jit(scaled.by_kernel)(*arrays), wanted, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(rb.jit(scaled_matmul)(*arrays), wanted)  # plain operations on the CPU
    types = [rb.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
    assert CALL in rb.jit(scaled_matmul).trace(*types).lower(platforms=("cuda",)).as_text()


@pytest.mark.forbidden("debug_nans")  # some are beyond what the format of the scales holds
def test_derivatives_of_scales():
    x, y, a, b = quantized("mxfp8")
    a, b = a.astype("float8_e4m3fn"), b.astype("float8_e4m3fn")
    loss = lambda f: lambda a, b: f(x, y, a, b).sum()
    found, wanted = [
        rb.jit(rb.grad(loss(f), (0, 1)))(a, b) for f in (scaled.by_kernel, float8.scaled_matmul)
    ]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.astype("float32"), other.astype("float32"))


def test_sizes_that_the_kernel_does_not_have():
    x, y, a, b = quantized("mxfp8", k=96)
    assert not scaled.supports(x, y, a, b)
    assert rb.eval_shape(scaled_matmul, x, y, a, b).shape == (2, 70, 40)
    with pytest.raises(TypeError, match="scaled_matmul multiplies"):
        scaled_matmul(x, y[:1], a, b)
