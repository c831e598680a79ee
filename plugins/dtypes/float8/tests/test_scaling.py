"""Scales, rounding by chance, and products in 8 bits."""

import numpy as np
import pytest
import rabbet
import rabbet.numpy as rnp
from rabbet import dtypes
from rabbet.experimental import float8

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 16)).astype(np.float32)
W = RNG.normal(size=(16, 4)).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_quantizing_keeps_each_number_to_the_formats_precision(dtype, axis):
    spec = dtypes.spec(dtype)
    small = float8.quantize(1e-3 * X, dtype, axis=axis)
    assert small.values.dtype == dtype
    assert small.scale.shape == ({None: (), 0: (1, 16), -1: (6, 1)}[axis])
    assert float(rnp.max(rnp.abs(small.values.astype("float32")))) == spec.largest
    off = np.abs(np.asarray(float8.dequantize(small)) - 1e-3 * X)
    step = float(spec.limits.smallest_subnormal) * np.asarray(small.scale)
    assert np.all(off <= 0.5 * float(spec.limits.eps) * np.abs(1e-3 * X) + step)


def test_scales_of_nothing_are_one():
    assert float8.quantize(rnp.zeros(3)).scale.tolist() == 1.0
    assert float8.quantize(rnp.zeros((0,))).scale.tolist() == 1.0
    assert float8.scale_for(rnp.array([rnp.inf, 0.0, 448.0]), "float8_e4m3fn").tolist() == [1.0, 1.0, 1.0]
    assert float(float8.dequantize(float8.quantize(rnp.array(1e-44)))) < 1e-38  # no division by zero


@pytest.mark.forbidden("debug_nans")
def test_numbers_beyond_the_scale_saturate():
    assert float8.saturate(rnp.array([-1e9, 460.0, rnp.inf]), "float8_e4m3fn").tolist() == [-448, 448, 448]
    assert rnp.isnan(float8.saturate(rnp.nan, "float8_e4m3fn"))
    assert float8.quantize(rnp.array([900.0]), scale=2.0).values.tolist() == [448.0]


@pytest.mark.needs("grad")
def test_fake_quantization_has_the_derivative_of_what_it_stands_for():
    x = rnp.asarray(X)
    assert rnp.array_equal(float8.fake_quantize(x), float8.dequantize(float8.quantize(x)))
    ones = rabbet.grad(lambda x: float8.fake_quantize(x, "float4_e2m1fn").sum())(x)
    assert np.array_equal(ones, np.ones_like(X))


@pytest.mark.needs("random")
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "bfloat16"])
def test_rounding_by_chance_is_right_on_average(dtype):
    if dtypes.find(dtype) is None:
        pytest.skip("the dtype is not installed")
    spec, n = dtypes.spec(dtype), 4000
    for x in (1.04, -2.71, 0.013, 5.0):
        rounded = float8.stochastic_round(rnp.full((n,), x), dtype, rabbet.random.key(1)).astype("float32")
        found = np.unique(np.asarray(rounded))
        nearest = np.float32(x).astype(spec.dtype).astype(np.float32)
        assert nearest in found and len(found) <= 2
        spread = found[-1] - found[0] if len(found) == 2 else 0.0
        assert abs(float(rounded.mean()) - x) <= 4 * spread / np.sqrt(n) + 1e-6  # four standard errors


@pytest.mark.forbidden("debug_nans")
@pytest.mark.needs("random")
def test_rounding_by_chance_keeps_what_a_format_can_hold():
    key = rabbet.random.key(0)
    every = np.arange(256, dtype=np.uint8).view(dtypes.canonicalize("float8_e4m3fn"))
    again = np.asarray(float8.stochastic_round(every.astype(np.float32), "float8_e4m3fn", key))
    assert np.array_equal(again.astype(np.float32), every.astype(np.float32), equal_nan=True)


@pytest.mark.needs("random")
def test_rounding_by_chance_refuses_a_format_of_scales():
    with pytest.raises(TypeError, match="float8_e8m0fnu is not one"):
        float8.stochastic_round(1.0, "float8_e8m0fnu", rabbet.random.key(0))


def test_delayed_scaling_uses_the_steps_before():
    state = float8.DelayedScaling.of(steps=3)
    scales = []
    for size in (448.0, 896.0, 4.48, 4.48, 4.48, 4.48):
        small, state = state.quantize(rnp.array([size, -1.0]))
        scales.append(round(float(small.scale), 4))
    assert scales == [1.0, 1.0, 2.0, 2.0, 2.0, 0.01]


@pytest.mark.forbidden("debug_infs")
def test_delayed_scaling_leaves_infinities_out():
    state = float8.DelayedScaling.of(steps=3)
    for _ in range(3):
        _, state = state.quantize(rnp.array([4.48]))
    assert state.seen(rnp.array([rnp.inf])).history.tolist() == pytest.approx([4.48] * 3)


@pytest.mark.needs("jit")
def test_delayed_scaling_is_a_state_of_a_compiled_loop():
    from rabbet import lax

    def step(state, x):
        small, state = state.quantize(x)
        return state, float8.dequantize(small).sum()

    state, sums = rabbet.jit(lambda xs: lax.scan(step, float8.DelayedScaling.of(2), xs))(rnp.asarray(X))
    assert state.history.tolist() == [np.abs(X[-1]).max(), np.abs(X[-2]).max()]
    assert np.allclose(sums[2:], X[2:].sum(1), atol=0.6)


def test_dot_is_close_to_the_product():
    out, wanted = float8.dot(X, W), X @ W
    assert out.dtype == np.float32
    assert np.abs(np.asarray(out) - wanted).max() < 0.05 * np.abs(wanted).max()
    with pytest.raises(TypeError, match=r"\(\.\.\., n\) by \(n, m\), got shapes \(6, 16\) and \(4, 16\)"):
        float8.dot(X, W.T)


@pytest.mark.needs("grad", "vmap", "jit")
def test_dot_has_derivatives_and_goes_through_transformations():
    def loss(x, w):
        return (float8.dot(x, w) ** 2).sum()

    got = rabbet.grad(loss, (0, 1))(X, W)
    wanted = 2 * (X @ W) @ W.T, 2 * X.T @ (X @ W)
    for a, b in zip(got, wanted, strict=True):
        assert np.abs(np.asarray(a) - b).max() < 0.1 * np.abs(b).max()
    compiled = rabbet.jit(rabbet.grad(loss, (0, 1)))(X, W)
    for a, b in zip(compiled, got, strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-4)
    each = rabbet.vmap(lambda row: float8.dot(row, W))(X)
    assert np.allclose(each, np.stack([float8.dot(row, W) for row in X]), rtol=1e-5, atol=1e-5)
