"""Layer norm and rms norm against their definitions, by kernels and by plain operations."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet_kernels import normalizing
from rabbet_kernels.normalizing import layer_norm, rms_norm

pytestmark = pytest.mark.needs("jit", "vmap", "grad", "nn", "numpy")
RNG = np.random.default_rng(0)
X, GIVEN = RNG.normal(size=(2, 37, 20)).astype("float32")
SCALE, BIAS = RNG.normal(size=(2, 20)).astype("float32")


def by_definition(x, scale, bias=None, epsilon=1e-5):
    x = x.astype("float64")
    x = x if bias is None else x - x.mean(-1, keepdims=True)
    out = x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale
    return out if bias is None else out + bias


def test_values():
    found, wanted = layer_norm(X, SCALE, BIAS), by_definition(X, SCALE, BIAS)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    found = rms_norm(X.reshape(1, 37, 20), SCALE, epsilon=1e-3)
    assert found.shape == (1, 37, 20)
    np.testing.assert_allclose(found[0], by_definition(X, SCALE, epsilon=1e-3), rtol=1e-5, atol=1e-5)
    half = layer_norm(X.astype("bfloat16"), SCALE, BIAS)
    assert half.dtype == "bfloat16"
    np.testing.assert_allclose(half.astype("float32"), by_definition(X, SCALE, BIAS), rtol=0.05, atol=0.05)


# Compiling them is what takes time.
@pytest.mark.parametrize(
    ("platform", "centered"),
    [
        ("cuda", True),
        ("tpu", False),
        pytest.param("cuda", False, marks=pytest.mark.exhaustive),
        pytest.param("tpu", True, marks=pytest.mark.exhaustive),
    ],
)
def test_kernels_and_their_derivatives(platform, centered):
    factors = (SCALE, BIAS) if centered else (SCALE,)
    numbers = tuple(range(1 + len(factors)))
    options = normalizing.Options(centered, 1e-5, platform)
    loss = lambda f: lambda *xs: (f(options, *xs) * GIVEN).sum()
    found = rb.jit(rb.value_and_grad(loss(normalizing.by_kernels), numbers))(X, *factors)
    wanted = rb.jit(rb.value_and_grad(loss(normalizing.directly), numbers))(X, *factors)
    for a, b in zip(rb.tree.leaves(found), rb.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    directions = tuple([np.ones_like(x) for x in (X, *factors)])
    jvp = rb.jit(lambda f, xs: rb.jvp(lambda *ys: f(options, *ys), xs, directions)[1], static_argnums=0)
    found, wanted = [jvp(f, (X, *factors)) for f in (normalizing.by_kernels, normalizing.directly)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_many_rows_are_shared_among_programs():
    x = RNG.normal(size=(1100, 8)).astype("float32")
    options = normalizing.Options(True, 1e-5, "cuda")
    old = normalizing.PROGRAMS, normalizing.ELEMENTS
    try:
        normalizing.PROGRAMS, normalizing.ELEMENTS = 3, {"cuda": 64}
        loss = lambda f: lambda *xs: (f(options, *xs) ** 3).sum()
        arrays = x, SCALE[:8], BIAS[:8]
        found = rb.jit(rb.grad(loss(normalizing.by_kernels), (0, 1, 2)))(*arrays)
    finally:
        normalizing.PROGRAMS, normalizing.ELEMENTS = old
    wanted = rb.jit(rb.grad(loss(normalizing.directly), (0, 1, 2)))(*arrays)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_kernels_are_used_on_hardware_alone():
    for platform, call in (("cuda", "__gpu$xla.gpu.triton"), ("tpu", "tpu_custom_call"), ("cpu", None)):
        lowered = rb.jit(layer_norm).trace(X, SCALE, BIAS).lower(platforms=(platform,)).as_text()
        assert "while" not in lowered if call is None else call in lowered


def test_what_does_not_fit():
    with pytest.raises(ValueError, match=r"layer_norm: arrays of shapes \(37, 20\), \(19,\).*\n  to fix: "):
        layer_norm(X, SCALE[:19], BIAS)
    with pytest.raises(ValueError, match="rms_norm: elements of dtype int32"):
        rms_norm(rnp.ones((2, 3), "int32"), rnp.ones(3))
