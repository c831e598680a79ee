"""Shapes of convolutions and windows, as ``jax.lax`` offers them."""

import rabbet as rb
from rabbet import lax


def _of(function, *shapes):
    return rb.eval_shape(function, *[rb.ShapeDtypeStruct(tuple(s), "float32") for s in shapes]).shape


def conv_general_permutations(dimension_numbers):
    """How to transpose operands and result to batch, features, space: three lists of dimensions.

    Args:
      dimension_numbers: three texts, as ``("NHWC", "HWIO", "NHWC")``.
    """
    lhs, rhs, out = dimension_numbers
    space = [c for c in rhs if c not in "OI"]
    order = lambda text, first: tuple([text.index(c) for c in (*first, *space)])
    return order(lhs, "NC"), order(rhs, "OI"), order(out, "NC")


def conv_general_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of ``conv_general_dilated``."""
    call = lambda x, w: lax.conv_general_dilated(
        x, w, window_strides, padding, dimension_numbers=dimension_numbers
    )
    return _of(call, lhs_shape, rhs_shape)


def conv_shape_tuple(lhs_shape, rhs_shape, strides, pads, batch_group_count=1):
    """The shape of a convolution with batch and features first: ``conv_general_dilated`` by its defaults."""
    call = lambda x, w: lax.conv_general_dilated(x, w, strides, pads, batch_group_count=batch_group_count)
    return _of(call, lhs_shape, rhs_shape)


def conv_transpose_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of ``conv_transpose``."""
    call = lambda x, w: lax.conv_transpose(
        x, w, window_strides, padding, dimension_numbers=dimension_numbers
    )
    return _of(call, lhs_shape, rhs_shape)


def reduce_window_shape_tuple(
    operand_shape, window_dimensions, window_strides, padding, base_dilation=None, window_dilation=None
):
    """The shape of ``reduce_window``; ``padding`` is a pair for each dimension."""
    call = lambda x: lax.reduce_window(
        x, 0.0, lax.add, tuple(window_dimensions), tuple(window_strides), padding, base_dilation,
        window_dilation,
    )  # fmt: skip
    return _of(call, operand_shape)
