"""Convolutions in all their forms, each of them one or two calls of ``conv_general_dilated``."""

from __future__ import annotations

import operator
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import obeys_out_sharding
from rabbet.extend.primitive import canonical_precision, expand_dims, full_of_type
from rabbet.extend.rules import to_dtype
from rabbet.extend.transform import typeof

from rabbet_convolution.padding import int_tuple, padding_pairs
from rabbet_convolution.primitives import convolution, windows
from rabbet_convolution.primitives.convolution import ConvDimensionNumbers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import DTypeLike, Value

ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None
"""What ``dimension_numbers`` may be: three strings, a ``ConvDimensionNumbers``, or None."""


def conv_dimension_numbers(lhs_shape: Any, rhs_shape: Any, dimension_numbers: Any) -> Value:
    """Dimension numbers as ``ConvDimensionNumbers``.

    Args:
      lhs_shape, rhs_shape: the shapes of operand and kernel.
      dimension_numbers: None for ``("NCHW", "OIHW", "NCHW")`` and its like in other ranks; three strings,
        of which each character names a dimension: N the batch, C features, I and O the kernel's input and
        output features, any others spatial dimensions; or a ``ConvDimensionNumbers``, which is returned.

    Raises:
      TypeError, ValueError: if ranks, lengths or characters do not fit; the message says which.

    Example:
      >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 16), ('NHWC', 'HWIO', 'NHWC'))
      ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise ShapeError(
            f"convolution: the operand of shape {tuple(lhs_shape)} and the kernel of shape "
            f"{tuple(rhs_shape)} must have one rank, they have {rank} and {len(rhs_shape)}"
        )
    if dimension_numbers is None:
        same = tuple(range(rank))
        return ConvDimensionNumbers(same, same, same)
    specs = tuple(dimension_numbers) if isinstance(dimension_numbers, (tuple, list)) else ()
    if len(specs) != 3 or not all(isinstance(s, str) for s in specs):
        raise ShapeError(
            "dimension_numbers must be None, a ConvDimensionNumbers or three strings as in ('NHWC', 'HWIO', "
            f"'NHWC'), got {dimension_numbers!r}"
        )
    spatial = [c for c in specs[1] if c not in "OI"]
    for name, spec, letters in zip(("lhs", "rhs", "out"), specs, ("NC", "OI", "NC"), strict=True):
        if len(spec) != rank:
            raise ShapeError(
                f"dimension_numbers {specs}: {name}_spec {spec!r} names {len(spec)} dimensions, the arrays "
                f"have {rank}"
            )
        if sorted(spec) != sorted([*letters, *spatial]) or len(set(spec)) != rank:
            raise ShapeError(
                f"dimension_numbers {specs}: {name}_spec {spec!r} must have the characters {letters[0]} and "
                f"{letters[1]} and the spatial ones of the kernel, {''.join(spatial)!r}, once each"
            )
    return ConvDimensionNumbers(
        tuple([specs[0].index(c) for c in ("N", "C", *spatial)]),
        tuple([specs[1].index(c) for c in ("O", "I", *spatial)]),
        tuple([specs[2].index(c) for c in ("N", "C", *spatial)]),
    )


@obeys_out_sharding
def conv_general_dilated(
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Value:
    """The convolution of ``lhs`` with the kernel ``rhs``: products with each window, summed.

    As usual in machine learning the kernel is not turned around: this is a cross-correlation.

    Args:
      lhs: an array with a batch, a feature, and any number of spatial dimensions.
      rhs: a kernel of the same rank and dtype, with output features, input features and spatial dimensions.
      window_strides: how far windows are apart, per spatial dimension.
      padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"`` or a pair ``(low, high)`` per spatial dimension;
        negative padding cuts off.
      lhs_dilation, rhs_dilation: how far the elements of operand or kernel are spread; by default 1.
      dimension_numbers: which dimension is what, see ``conv_dimension_numbers``.
      feature_group_count: the number of groups into which features are divided, inputs and outputs alike.
      batch_group_count: the number of groups into which examples and output features are divided.
      precision: see ``Precision``.
      preferred_element_type: the dtype of sums and of the result, by default that of the operands.

    Returns:
      an array laid out by the third of the dimension numbers.

    Raises:
      TypeError, ValueError: if ranks, numbers of features, groups or dtypes do not fit.

    Example:
      >>> x, w = rnp.ones((1, 8, 8, 3)), rnp.ones((3, 3, 3, 4))
      >>> lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).shape
      (1, 4, 4, 4)
    """
    x, w = typeof(lhs), typeof(rhs)
    if x.dtype != w.dtype:
        dtype = dtypes.promote_types(x.dtype, w.dtype)
        if x.weak_type or w.weak_type:
            lhs, rhs = to_dtype(lhs, dtype), to_dtype(rhs, dtype)
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    convolution.check_ranks(
        f"conv_general_dilated of {x.str_short()} with the kernel {w.str_short()}", x, w, numbers
    )
    n = x.ndim - 2
    strides = int_tuple("window_strides", window_strides, n)
    base = int_tuple("lhs_dilation", lhs_dilation, n)
    dilation = int_tuple("rhs_dilation", rhs_dilation, n)
    sizes = [x.shape[d] for d in numbers.lhs_spec[2:]]
    kernel = [w.shape[d] for d in numbers.rhs_spec[2:]]
    if isinstance(padding, str) and padding.upper() != "VALID" and any(b != 1 for b in base):
        raise ShapeError(
            f"conv_general_dilated: padding {padding!r} does not say what is meant with lhs_dilation {base}; "
            "give pairs (low, high), or use conv_transpose"
        )
    same = len(strides) == len(base) == len(dilation) == n
    pads = padding_pairs(padding, sizes, kernel, strides, base, dilation) if same else ()
    return convolution.conv_general_dilated(
        lhs, rhs, window_strides=strides, padding=pads, lhs_dilation=base, rhs_dilation=dilation,
        dimension_numbers=ConvDimensionNumbers(*map(tuple, numbers)),
        feature_group_count=operator.index(feature_group_count),
        batch_group_count=operator.index(batch_group_count),
        precision=canonical_precision(precision),
        preferred_element_type=None
        if preferred_element_type is None
        else dtypes.requested(preferred_element_type),
    )  # fmt: skip


def conv(
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Value:
    """``conv_general_dilated`` in the layout NCHW (and its like), with ``"SAME"`` or ``"VALID"`` padding.

    Example:
      >>> lax.conv(rnp.ones((1, 3, 8, 8)), rnp.ones((4, 3, 3, 3)), (1, 1), "SAME").shape
      (1, 4, 8, 8)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Value:
    """``conv_general_dilated`` in the layout NCHW (and its like).

    Example:
      >>> x, w = rnp.ones((1, 3, 8)), rnp.ones((4, 3, 3))
      >>> lax.conv_with_general_padding(x, w, (1,), [(1, 1)], None, None).shape
      (1, 4, 8)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


# -------------------------------------------------------------------------------------- transposed
_CHANNELS_LAST = {
    2: ("NC", "IO", "NC"), 3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}  # fmt: skip


def conv_transpose(
    lhs: Value,
    rhs: Value,
    strides: Sequence[int],
    padding: Any,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Value:
    """A convolution with fractional strides: the operand is spread by ``strides``, so the result is larger.

    Args:
      lhs: an array with a batch, a feature, and spatial dimensions.
      rhs: a kernel of the same rank.
      strides: by how much each spatial dimension grows.
      padding: ``"SAME"`` for results of ``size * stride``, ``"VALID"`` for ``size * stride + max(kernel -
        stride, 0)``, or a pair per dimension: padding of the spread operand.
      rhs_dilation: how far the kernel's elements are spread; by default 1.
      dimension_numbers: see ``conv_dimension_numbers``; by default channels come last, ``("NHWC", "HWIO",
        "NHWC")``.
      transpose_kernel: turn the kernel around and exchange its features: the result is then the gradient
        of a convolution with ``rhs``.
      use_consistent_padding: take pairs too as the padding of the convolution whose gradient this is.

    Returns:
      an array laid out by the third of the dimension numbers.

    Example:
      >>> lax.conv_transpose(rnp.ones((1, 8, 8, 3)), rnp.ones((2, 2, 3, 4)), (2, 2), "SAME").shape
      (1, 16, 16, 4)
    """
    x, w = typeof(lhs), typeof(rhs)
    if dimension_numbers is None:
        if x.ndim not in _CHANNELS_LAST:
            raise ShapeError(
                f"conv_transpose of {x.str_short()}: there are no dimension numbers by default for rank "
                f"{x.ndim}; give dimension_numbers"
            )
        dimension_numbers = _CHANNELS_LAST[x.ndim]
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    n = x.ndim - 2
    strides = int_tuple("strides", strides, n)
    dilation = int_tuple("rhs_dilation", rhs_dilation, n)
    extent = [
        windows.spread(w.shape[d], step) for d, step in zip(numbers.rhs_spec[2:], dilation, strict=True)
    ]
    if isinstance(padding, str):
        if padding not in ("SAME", "VALID"):
            raise ShapeError(f"conv_transpose: padding must be 'SAME', 'VALID' or pairs, got {padding!r}")
        pads = [_transposed_pads(k, s, padding) for k, s in zip(extent, strides, strict=True)]
    else:
        pads = padding_pairs(padding, (), (), (), (), ())
        if use_consistent_padding:
            pads = [(k - 1 - lo, k - 1 - hi) for k, (lo, hi) in zip(extent, pads, strict=True)]
    if transpose_kernel:
        rhs = lax.rev(rhs, numbers.rhs_spec[2:])
        numbers = numbers._replace(rhs_spec=(numbers.rhs_spec[1], numbers.rhs_spec[0], *numbers.rhs_spec[2:]))
    return conv_general_dilated(
        lhs, rhs, (1,) * n, pads, strides, dilation, numbers, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def _transposed_pads(k, s, padding):
    """The padding of a spread operand for kernel extent ``k`` and stride ``s``."""
    if padding == "SAME":
        total = k + s - 2
        low = k - 1 if s > k - 1 else -(-total // 2)
    else:
        total = k + s - 2 + max(k - s, 0)
        low = k - 1
    return low, total - low


# ---------------------------------------------------------------------------------- patches and local
def conv_general_dilated_patches(
    lhs: Value,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Value:
    """What a convolution with kernels of ``filter_shape`` would see at each place, as features.

    Args: as ``conv_general_dilated`` takes them; ``filter_shape`` are the spatial sizes of the kernel, in
      the order of the spatial characters of ``rhs_spec``; ``precision`` has no effect: elements are copied,
      and nothing is multiplied.

    Returns:
      an array laid out as a convolution's result, with ``features * prod(filter_shape)`` features: for each
      input feature the elements of its window in row-major order.

    Example:
      >>> lax.conv_general_dilated_patches(rnp.ones((1, 3, 8, 8)), (2, 2), (2, 2), "VALID").shape
      (1, 12, 4, 4)
    """
    x = typeof(lhs)
    rank = x.ndim
    numbers = conv_dimension_numbers(x.shape, (1,) * rank, dimension_numbers)
    n = rank - 2
    filter_shape = int_tuple("filter_shape", filter_shape, n)
    strides = int_tuple("window_strides", window_strides, n)
    base, dilation = int_tuple("lhs_dilation", lhs_dilation, n), int_tuple("rhs_dilation", rhs_dilation, n)
    moved = lax.transpose(lhs, numbers.lhs_spec)
    sizes = typeof(moved).shape
    pads = padding_pairs(padding, sizes[2:], filter_shape, strides, base, dilation)
    window = windows.Window(
        (1, 1, *filter_shape), (1, 1, *strides), ((0, 0), (0, 0), *pads), (1, 1, *base), (1, 1, *dilation)
    )
    windows.check("conv_general_dilated_patches", typeof(moved), window)
    zero = full_of_type(typeof(moved).update(shape=(), weak_type=False), 0)
    out = windows.out_shape(sizes, window)
    if 0 in out or not window.places:
        found = full_of_type(
            typeof(moved).update(shape=(out[0], out[1] * window.places, *out[2:]), weak_type=False), 0
        )
    else:
        parts = windows.patches(moved, zero, window)
        wide = [expand_dims(p, dimensions=(2,)) for p in parts]
        stacked = wide[0] if len(wide) == 1 else lax.concatenate(wide, 2)
        found = lax.reshape(stacked, (out[0], out[1] * window.places, *out[2:]))
    found = lax.transpose(found, tuple(np.argsort(numbers.out_spec)))
    if preferred_element_type is None:
        return found
    return to_dtype(found, dtypes.requested(preferred_element_type))


def conv_general_dilated_local(
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: Any,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Value:
    """A convolution with a kernel of its own at each place of the result.

    Args: as ``conv_general_dilated`` takes them, but ``rhs`` has the result's spatial sizes, and as input
      features the elements of a whole window: ``features * prod(filter_shape)``, ordered as
      ``conv_general_dilated_patches`` orders them.

    Returns:
      an array laid out by the third of the dimension numbers.

    Example:
      >>> x, w = rnp.ones((1, 1, 3)), rnp.ones((1, 2, 2))
      >>> lax.conv_general_dilated_local(x, w, (1,), 'VALID', (2,))
      Array([[[2., 2.]]], dtype=float32)
    """
    x, w = typeof(lhs), typeof(rhs)
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    canonical = ConvDimensionNumbers(numbers.lhs_spec, numbers.rhs_spec, tuple(range(x.ndim)))
    seen = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, canonical
    )
    kernel = lax.transpose(rhs, numbers.rhs_spec)
    given, needed = typeof(kernel).shape, typeof(seen).shape
    if given[1:] != needed[1:]:
        raise ShapeError(
            f"conv_general_dilated_local of {x.str_short()}: the kernel {w.str_short()} must have "
            f"{needed[1]} input features (features times the window's {prod(filter_shape)} places) and the "
            f"spatial sizes {needed[2:]}, it has {given[1]} and {given[2:]}"
        )
    batch = tuple(range(2, x.ndim))
    out = lax.dot_general(kernel, seen, (((1,), (1,)), (batch, batch)), precision)
    # Spatial dimensions, output features, examples: as the result's numbers say.
    places = (x.ndim - 1, x.ndim - 2, *range(x.ndim - 2))
    order = [0] * x.ndim
    for place, d in zip(places, numbers.out_spec, strict=True):
        order[d] = place
    return lax.transpose(out, tuple(order))


__all__ = [
    "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv", "conv_dimension_numbers",
    "conv_general_dilated", "conv_general_dilated_local", "conv_general_dilated_patches", "conv_transpose",
    "conv_with_general_padding",
]  # fmt: skip
