"""Each form in which a convolution is written for the CPU gives what the definition gives."""

import itertools

import numpy as np
import pytest
import rabbet as rb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rabbet import lax
from rabbet_pjrt_cpu.lowering import convolutions

pytest.importorskip("rabbet_convolution")

LAYOUTS = [
    ("NHWC", "HWIO", "NHWC"),
    ("NCHW", "OIHW", "NCHW"),
    ("NHWC", "OIHW", "NCHW"),
    ("HWNC", "IHWO", "CWHN"),
]


def by_definition(x, w, strides, padding, dilation, spread, layout, groups):
    """The sum over places and features in NumPy, in float64."""
    x = np.einsum(f"{layout[0]}->NCHW", x).astype("float64")
    w = np.einsum(f"{layout[1]}->OIHW", w).astype("float64")
    wide = np.zeros((*x.shape[:2], *[(n - 1) * s + 1 for n, s in zip(x.shape[2:], spread)]))
    wide[:, :, :: spread[0], :: spread[1]] = x
    wide = np.pad(wide, [(0, 0), (0, 0), *[[max(n, 0) for n in pair] for pair in padding]])
    for d, (low, high) in enumerate(padding, 2):  # what is negative cuts off
        wide = np.take(wide, range(max(-low, 0), wide.shape[d] - max(-high, 0)), axis=d)
    counts = [
        (n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(wide.shape[2:], w.shape[2:], dilation, strides)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *counts))
    inside, made = w.shape[1], w.shape[0] // groups
    for i, j, o in itertools.product(*map(range, (*w.shape[2:], w.shape[0]))):
        first = o // made * inside
        low = i * dilation[0], j * dilation[1]
        part = wide[
            :, first : first + inside,
            low[0] : low[0] + (counts[0] - 1) * strides[0] + 1 : strides[0],
            low[1] : low[1] + (counts[1] - 1) * strides[1] + 1 : strides[1],
        ]  # fmt: skip
        out[:, o] += np.einsum("nchw,c->nhw", part, w[o, :, i, j])
    return np.einsum(f"NCHW->{layout[2]}", out)


def operands(layout, n, c, h, v, o, kh, kw, groups, dtype="float32"):
    random = np.random.default_rng(h * 7 + c)
    x = random.normal(size=[{"N": n, "C": c, "H": h, "W": v}[letter] for letter in layout[0]])
    w = random.normal(size=[{"O": o, "I": c // groups, "H": kh, "W": kw}[letter] for letter in layout[1]])
    return x.astype(dtype), w.astype(dtype)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_convolution_is_what_the_definition_says(data):
    def pick(*values):
        return data.draw(st.sampled_from(values))

    layout = pick(*LAYOUTS)
    depthwise = pick(True, False)
    c = pick(2, 5) if depthwise else pick(1, 3, 6)
    groups, o = (c, c) if depthwise else (1, pick(2, 4))
    kh, kw = pick((1, 1), (3, 3), (2, 3))
    strides, dilation, spread = pick((1, 1), (2, 1)), pick((1, 1), (1, 2)), pick((1, 1), (1, 1), (2, 1))
    padding = pick(((0, 0), (0, 0)), ((1, 1), (0, 2)), ((2, -1), (0, 0)))
    x, w = operands(layout, 2, c, 7, pick(6, 20), o, kh, kw, groups)
    arguments = strides, padding, spread, dilation
    out = lax.conv_general_dilated(x, w, *arguments, layout, groups)
    wanted = by_definition(x, w, strides, padding, dilation, spread, layout, groups)
    np.testing.assert_allclose(out, wanted, rtol=2e-5, atol=2e-5)


SAME, VALID = {"padding": "SAME"}, {"padding": "VALID"}
CASES = {  # form: layout, sizes, options
    "each_channel": (LAYOUTS[0], (2, 3, 6, 7, 3, 3, 2, 3), {"window_strides": (2, 1), **SAME}),
    "shifted_products": (LAYOUTS[1], (2, 3, 6, 7, 4, 3, 3, 1), SAME),
    "one_place": (LAYOUTS[0], (2, 5, 6, 7, 4, 1, 1, 1), VALID),
    "one_place_each": (LAYOUTS[1], (2, 5, 8, 16, 4, 1, 1, 1), VALID),
}


@pytest.mark.parametrize("form", CASES)
def test_each_form_is_chosen_and_differentiated(form, monkeypatch):
    pytest.importorskip("rabbet_autodiff", reason="the package rabbet-autodiff is not installed")
    layout, sizes, options = CASES[form]
    x, w = operands(layout, *sizes, dtype="float64")
    used, choose = [], convolutions.form_of

    def seen(*arguments):
        chosen = choose(*arguments)
        used.append(chosen and chosen.__name__)
        return chosen

    monkeypatch.setattr(convolutions, "form_of", seen)
    options = {"window_strides": (1, 1), "dimension_numbers": layout, **options}

    def loss(x, w):
        return (lax.conv_general_dilated(x, w, feature_group_count=sizes[-1], **options) ** 2).sum()

    with rb.enable_x64():
        gradients = rb.grad(loss, (0, 1))(x, w)
        assert form in used
        assert form != "each_channel" or "each_place" in used
        for at, (gradient, operand) in enumerate(zip(gradients, (x, w), strict=True)):
            direction = np.random.default_rng(1).normal(size=operand.shape)
            ends = []
            for step in (1e-5, -1e-5):
                moved = [x, w]
                moved[at] = operand + step * direction
                ends.append(float(loss(*moved)))
            slope = (ends[0] - ends[1]) / 2e-5
            np.testing.assert_allclose(float((gradient * direction).sum()), slope, rtol=1e-6)


def depthwise(spec, **options):
    """``conv(x, w)`` for ``x`` laid out as ``spec`` says, and ``w`` as channels, 1, space."""
    numbers = spec, "OI" + spec.replace("N", "").replace("C", ""), spec

    def conv(x, w):
        return lax.conv_general_dilated(
            x, w, dimension_numbers=numbers, feature_group_count=len(w), **options
        )

    return conv


@pytest.mark.parametrize("places, barriers", [(5, 0), (7, 3)])
def test_large_depthwise_kernels_are_summed_in_parts(places, barriers):
    pytest.importorskip("rabbet_jit", reason="rb.jit is in the package rabbet-jit")
    x, w = operands(LAYOUTS[0], 2, 3, 9, 8, 3, places, places, 3)
    conv = lambda x, w: lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=LAYOUTS[0], feature_group_count=3
    )
    lowered = rb.jit(conv).lower(x, w)
    assert lowered.as_text().count("stablehlo.optimization_barrier") == barriers
    edge = places // 2
    wanted = by_definition(x, w, (1, 1), ((edge, edge),) * 2, (1, 1), (1, 1), LAYOUTS[0], 3)
    np.testing.assert_allclose(lowered.compile()(x, w), wanted, rtol=2e-5, atol=2e-5)


def kernel_gradient(conv):
    return lambda x, w, cotangent: rb.vjp(lambda w: conv(x, w), w)[1](cotangent)[0]


@pytest.mark.parametrize(
    "spec, shape, sizes, options",
    [
        ("NHWC", (2, 16, 9, 3), (3, 3), {}),
        ("NCHW", (2, 3, 16, 9), (3, 3), {}),
        ("HWNC", (9, 14, 2, 3), (5, 2), {}),
        ("NHWC", (3, 17, 5, 2), (3, 3), {}),  # 17 rows: the last block is filled up with zeros
        ("NHWC", (2, 33, 5, 2), (3, 3), {"window_strides": (2, 2)}),
        ("NHWC", (2, 20, 9, 3), (3, 2), {"window_strides": (2, 3)}),
        ("NHWC", (2, 21, 11, 3), (2, 3), {"window_strides": (2, 1), "rhs_dilation": (3, 2)}),
        ("NHWC", (2, 12, 11, 3), (3, 3), {"padding": ((2, -1), (-1, 4))}),
        ("NWC", (2, 40, 3), (5,), {}),
        ("NDHWC", (2, 6, 5, 4, 2), (3, 2, 2), {}),
    ],
)
def test_sums_block_by_block_are_those_one_after_another(spec, shape, sizes, options, monkeypatch):
    pytest.importorskip("rabbet_autodiff", reason="the package rabbet-autodiff is not installed")
    pytest.importorskip("rabbet_jit", reason="rb.jit is in the package rabbet-jit")
    random = np.random.default_rng(0)
    conv = depthwise(spec, **{"window_strides": (1,) * len(sizes), "padding": "SAME", **options})
    results, loops = [], []
    with rb.enable_x64():
        x, w = random.normal(size=shape), random.normal(size=(shape[spec.index("C")], 1, *sizes))
        out = np.asarray(conv(x, w))
        cotangent = random.normal(size=out.shape)
        for least in (0, 1 << 60):
            monkeypatch.setattr(convolutions, "LEAST_SUMMED", least)
            lowered = rb.jit(kernel_gradient(conv)).lower(x, w, cotangent)
            loops.append("stablehlo.while" in lowered.as_text())
            results.append(np.asarray(lowered.compile()(x, w, cotangent)))
    assert loops == [True, False]
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-12)
    # The gradient times a kernel is the cotangent times what that kernel gives.
    np.testing.assert_allclose((results[0] * w).sum(), (out * cotangent).sum(), rtol=1e-10)


def test_sums_of_a_large_image_go_block_by_block():
    pytest.importorskip("rabbet_autodiff", reason="the package rabbet-autodiff is not installed")
    pytest.importorskip("rabbet_jit", reason="rb.jit is in the package rabbet-jit")
    gradient = kernel_gradient(depthwise("NHWC", window_strides=(1, 1), padding="SAME"))
    for places, loop in ((64, True), (16, False)):
        x, w = np.ones((1, places, 64, 8), "float32"), np.ones((8, 1, 3, 3), "float32")
        assert ("stablehlo.while" in rb.jit(gradient).lower(x, w, x).as_text()) is loop


@pytest.mark.parametrize(
    "size, rest", [(56, 3584), (14, 896), (17, 10), (13, 10), (1, 5), (4000, 64), (3, 9000), (97, 1)]
)
def test_blocks_fit_their_dimension(size, rest):
    rows, run = convolutions.block(size, rest)
    assert 4 <= rows <= 16
    assert run == 1 or run * rest <= convolutions.MOST_IN_ROW
    filled = -(-size // (rows * run)) * rows * run
    assert filled < size + 8  # few zeros at the end
    assert filled == size or not any(size % n == 0 for n in range(4, 17))


def test_half_precision_is_summed_in_float32():
    x, w = operands(LAYOUTS[0], 1, 4, 12, 12, 4, 5, 5, 4, dtype="float16")
    options = {"dimension_numbers": LAYOUTS[0], "feature_group_count": 4}
    out = lax.conv_general_dilated(x, w, (1, 1), "VALID", **options)
    wide = lax.conv_general_dilated(x.astype("float32"), w.astype("float32"), (1, 1), "VALID", **options)
    assert out.dtype == "float16"
    np.testing.assert_array_equal(out, np.asarray(wide).astype("float16"))


def test_batched_kernels_and_empty_images():
    x, w = operands(LAYOUTS[0], 2, 3, 6, 7, 4, 3, 3, 1)
    kernels = np.stack([w, 2 * w])
    conv = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=LAYOUTS[0])
    np.testing.assert_allclose(conv(x, 2 * w), 2 * conv(x, w), rtol=1e-5, atol=1e-5)
    assert conv(x[:, :0], w).shape == (2, 0, 7, 4)
    pytest.importorskip("rabbet_vmap", reason="the package rabbet-vmap is not installed")
    both = rb.vmap(conv, (None, 0))(x, kernels)
    np.testing.assert_allclose(both[1], 2 * conv(x, w), rtol=1e-5, atol=1e-5)
