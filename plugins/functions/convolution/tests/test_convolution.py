"""The laws of convolutions, then their forms, corners and messages."""

import numpy as np
import pytest
import scipy.signal
from rabbet import lax
from rabbet.testing import driver
from rabbet.testing.draws import device_array
from rabbet.testing.suite import law_tests
from rabbet_convolution.rows.convolution import ROWS

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)

RNG = np.random.default_rng(0)


def drawn(*shape):
    return device_array(RNG.uniform(-1, 1, shape).astype(np.float32))


def test_against_scipy():
    x, w = drawn(1, 1, 6, 7), drawn(1, 1, 3, 2)
    wanted = scipy.signal.correlate2d(np.asarray(x)[0, 0], np.asarray(w)[0, 0], "valid")
    np.testing.assert_allclose(lax.conv(x, w, (1, 1), "VALID")[0, 0], wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        lax.conv_with_general_padding(x, w, (1, 2), [(2, 2), (1, 1)], None, None)[0, 0],
        scipy.signal.correlate2d(np.asarray(x)[0, 0], np.asarray(w)[0, 0], "full")[:, ::2],
        rtol=1e-4, atol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 0), (1, 2)]])
def test_a_transposed_convolution_is_the_gradient_of_one(padding):
    numbers = ("NHWC", "HWIO", "NHWC")
    w = drawn(3, 2, 2, 4)

    def forward(x):
        return lax.conv_general_dilated(x, w, (2, 1), padding, dimension_numbers=numbers)

    x = drawn(1, 6, 5, 2)
    out, pull = driver.vjp(lambda v: (forward(v),), x)
    back = lax.conv_transpose(out[0], w, (2, 1), padding, transpose_kernel=True, use_consistent_padding=True)
    (wanted,) = pull(out)
    rows = min(back.shape[1], 6)
    np.testing.assert_allclose(back[:, :rows], wanted[:, :rows], rtol=1e-4, atol=1e-6)


def test_the_sizes_of_transposed_convolutions():
    x, w = drawn(1, 4, 3), drawn(3, 3, 2)
    assert lax.conv_transpose(x, w, (2,), "SAME").shape == (1, 8, 2)
    assert lax.conv_transpose(x, w, (2,), "VALID").shape == (1, 9, 2)
    assert lax.conv_transpose(x, w, (2,), "VALID", rhs_dilation=(2,)).shape == (1, 11, 2)
    assert lax.conv_transpose(x, w, (2,), [(0, 0)]).shape == (1, 5, 2)


def test_patches_and_local_kernels():
    x = drawn(2, 3, 5, 4)
    options = {"padding": [(1, 0), (0, 1)], "rhs_dilation": (1, 2), "lhs_dilation": (2, 1)}
    seen = lax.conv_general_dilated_patches(x, (2, 3), (2, 1), **options)
    w = drawn(4, 3, 2, 3)
    plain = lax.conv_general_dilated(x, w, (2, 1), **options)
    flat = np.asarray(w).reshape(4, 18)
    np.testing.assert_allclose(np.einsum("ncij,oc->noij", seen, flat), plain, rtol=1e-4, atol=1e-5)
    shared = np.broadcast_to(flat[:, :, None, None], (4, 18, *plain.shape[2:]))
    local = lax.conv_general_dilated_local(
        x, device_array(shared.copy()), (2, 1), filter_shape=(2, 3), **options
    )
    np.testing.assert_allclose(local, plain, rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match=r"must have 18 input features"):
        lax.conv_general_dilated_local(x, w, (2, 1), filter_shape=(2, 3), **options)


def test_patches_take_any_layout():
    x = drawn(5, 2, 3)
    seen = lax.conv_general_dilated_patches(x, (2,), (1,), "VALID", dimension_numbers=("WNC", "WIO", "CWN"))
    assert seen.shape == (6, 4, 2)
    np.testing.assert_array_equal(seen[1], np.asarray(x)[1:, :, 0])


def test_dimension_numbers():
    numbers = lax.conv_dimension_numbers((1, 2, 3, 4), (5, 6, 7, 8), ("NHWC", "WHIO", "HWNC"))
    assert numbers == lax.ConvDimensionNumbers((0, 3, 2, 1), (3, 2, 0, 1), (2, 3, 1, 0))
    assert lax.conv_dimension_numbers((1, 2), (3, 2), None).lhs_spec == (0, 1)
    shapes = (1, 2, 3, 4), (5, 6, 7, 8)
    with pytest.raises(ValueError, match=r"lhs_spec 'NHC' names 3 dimensions, the arrays have 4"):
        lax.conv_dimension_numbers(*shapes, ("NHC", "HWIO", "NHWC"))
    with pytest.raises(ValueError, match=r"out_spec 'NHWX' must have the characters N and C"):
        lax.conv_dimension_numbers(*shapes, ("NHWC", "HWIO", "NHWX"))
    with pytest.raises(TypeError, match=r"three strings"):
        lax.conv_dimension_numbers(*shapes, "NHWC")
    with pytest.raises(TypeError, match=r"must have one rank, they have 4 and 3"):
        lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3), None)


def test_messages():
    x, w = drawn(2, 3, 5, 5), drawn(4, 3, 2, 2)
    with pytest.raises(TypeError, match=r"has 5 features \(dimension 3\), the kernel takes 3"):
        lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "OIHW", "NHWC"))
    with pytest.raises(
        ValueError, match=r"window_strides .* is of length 1; give one per spatial dimension, 2"
    ):
        lax.conv(x, w, (1,), "SAME")
    with pytest.raises(ValueError, match=r"and one of them 1"):
        lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=2, batch_group_count=2)
    with pytest.raises(TypeError, match=r"which batch_group_count 4 does not divide"):
        lax.conv_general_dilated(x, w, (1, 1), "SAME", batch_group_count=4)
    with pytest.raises(TypeError, match=r"takes arrays of one dtype"):
        lax.conv(x, lax.convert_element_type(w, np.int32), (1, 1), "SAME")
    with pytest.raises(ValueError, match=r"use conv_transpose"):
        lax.conv_general_dilated(x, w, (1, 1), "SAME", (2, 2))
    with pytest.raises(ValueError, match=r"rhs_spec .* must name each of the dimensions 0 to 3 once"):
        numbers = lax.ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 2), (0, 1, 2, 3))
        lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=numbers)
    with pytest.raises(RuntimeError, match=r"unknown padding 'FULL'"):
        lax.conv(x, w, (1, 1), "FULL")
    with pytest.raises(ValueError, match=r"give dimension_numbers"):
        lax.conv_transpose(drawn(1, 1, 1, 1, 1, 1), drawn(1, 1, 1, 1, 1, 1), (1,) * 4, "SAME")


def test_convolutions_of_booleans_say_whether_there_is_a_match():
    x = device_array(np.array([True, False, True, False]).reshape(1, 1, 4))
    assert lax.conv_general_dilated(x, x[:, :, :2], (1,), "VALID").tolist() == [[[True, False, True]]]
