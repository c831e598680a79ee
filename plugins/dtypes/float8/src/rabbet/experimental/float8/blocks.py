"""Block formats: few bits for each number, and a scale for each block of neighbours.

The formats are those of "OCP Microscaling Formats (MX) Specification v1.0" (2023), whose scales are powers
of two, and NVFP4, whose scales are float8_e4m3fn beside one float32 for the array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import rabbet
import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.experimental.float8.rounding import saturate

if TYPE_CHECKING:
    from rabbet.typing import DTypeLike, Value


@dataclass(frozen=True)
class BlockScaleConfig:
    """How an array is quantized by blocks.

    Args:
      mode: the recipe's name.
      block_size: how many numbers share a scale.
      data_type, scale_type: dtypes of the numbers and of the scales.
      global_scale: a scale of the whole array, float32; None for 1.
      infer_only: whether nothing will be differentiated.

    Example:
      >>> from rabbet.experimental.float8 import BlockScaleConfig
      >>> BlockScaleConfig("mine", 4, "float8_e4m3fn", "float8_e8m0fnu").block_size
      4
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any = None
    infer_only: bool = False


RECIPES = {
    "mxfp8": (32, "float8_e4m3fn", "float8_e8m0fnu"),
    "mxfp4": (32, "float4_e2m1fn", "float8_e8m0fnu"),
    "nvfp4": (16, "float4_e2m1fn", "float8_e4m3fn"),
}


def get_scaled_dot_general_config(mode: str, global_scale: Value | None = None) -> BlockScaleConfig:
    """The recipe of this name, for ``scaled_dot_general``.

    Args:
      mode: ``"mxfp8"``, ``"mxfp4"`` or ``"nvfp4"``.
      global_scale: for nvfp4, the scale of the whole array, a float32 scalar or array of one element; 1 by
        default.

    Returns:
      a ``BlockScaleConfig``.

    Raises:
      ValueError: for another mode, and for a global scale where the recipe has none.

    Example:
      >>> import rabbet.nn
      >>> rabbet.nn.get_scaled_dot_general_config("mxfp8").block_size
      32
    """
    if mode not in RECIPES:
        raise ValueError(
            f"get_scaled_dot_general_config: unsupported mode {mode!r}; the modes are {', '.join(RECIPES)}"
        )
    if global_scale is not None and mode != "nvfp4":
        raise ValueError(f"get_scaled_dot_general_config: {mode} has no global scale, only nvfp4 has")
    if mode == "nvfp4" and global_scale is None:
        global_scale = rnp.ones((1,), "float32")
    size, data, scale = RECIPES[mode]
    data_type, scale_type = [dtypes.canonicalize(name).type for name in (data, scale)]
    return BlockScaleConfig(mode, size, data_type, scale_type, global_scale)


def power_of_two_above(x):
    """The least power of two that is not below ``x``, a positive float32, as float8_e8m0fnu."""
    bits = lax.bitcast_convert_type(x, np.dtype("uint32"))
    raised = lax.shift_right_logical(lax.add(bits, np.uint32(0x7FFFFF)), np.uint32(23))
    # The format's least number, 2**-127, is half of float32's least normal one.
    raised = rnp.where(bits <= 0x400000, np.uint32(0), rnp.minimum(raised, np.uint32(254)))
    return lax.bitcast_convert_type(raised.astype("uint8"), dtypes.canonicalize("float8_e8m0fnu"))


def quantize_blocks(x: Any, config: Any) -> tuple[Array, Array]:
    """Quantize blocks along the last dimension, which must be a multiple of the block size.

    Args:
      x: an array ``(..., k)`` of floats.
      config: a ``BlockScaleConfig``.

    Returns:
      ``(values, scales)``, of shapes ``(..., k)`` and ``(..., k / block_size)``. With the global scale, if
      there is one, ``values * repeat(scales) * global_scale`` is close to ``x``.

    Raises:
      ValueError: if blocks do not fill the last dimension.

    Example:
      >>> from rabbet.experimental.float8 import BlockScaleConfig, quantize_blocks
      >>> config = BlockScaleConfig("mine", 2, "float8_e4m3fn", "float8_e8m0fnu")
      >>> values, scales = quantize_blocks(rnp.array([1.0, 2.0, 448.0, 896.0]), config)
      >>> (values.astype("float32") * rnp.repeat(scales.astype("float32"), 2)).tolist()
      [1.0, 2.0, 448.0, 896.0]
    """
    x = rnp.asarray(x)
    *rest, k = x.shape
    if k % config.block_size:
        raise ValueError(f"quantize_blocks: {k} numbers are not whole blocks of {config.block_size}")
    blocks = x.astype("float32").reshape(*rest, k // config.block_size, config.block_size)
    if config.global_scale is not None:
        blocks = blocks / _scalar(config.global_scale)
    wanted = rnp.max(rnp.abs(blocks), axis=-1) / dtypes.spec(config.data_type).largest
    if not dtypes.spec(config.scale_type).zero:
        scales = power_of_two_above(wanted)
    else:
        scales = saturate(wanted, config.scale_type)
    divisor = scales.astype("float32")
    divisor = rnp.where(divisor > 0, divisor, rnp.float32(1))[..., None]
    return saturate(blocks / divisor, config.data_type).reshape(x.shape), scales


def _scalar(scale):
    return rnp.asarray(scale, "float32").reshape(())


def scaled_matmul(
    lhs: Value,
    rhs: Value,
    lhs_scales: Value,
    rhs_scales: Value,
    preferred_element_type: DTypeLike | None = np.float32,
) -> Array:
    """The product of two arrays with scales for blocks of their last dimensions.

    Args:
      lhs: ``(B, M, K)``. rhs: ``(B, N, K)``.
      lhs_scales: ``(B, M, K_l)``, where ``K`` is a multiple of ``K_l``. rhs_scales: ``(B, N, K_r)``,
        likewise.
      preferred_element_type: the dtype of the result; sums are float32.

    Returns:
      an array ``(B, M, N)``: the sum over ``K`` of both factors, each multiplied by the scale of its block.

    Raises:
      TypeError: if ranks, batch sizes or contracted sizes differ. ValueError: if scales do not divide blocks.

    Example:
      >>> import rabbet.nn
      >>> x = rnp.ones((1, 2, 4), "float8_e4m3fn")
      >>> half = rnp.full((1, 2, 2), 0.5, "float8_e8m0fnu")
      >>> rabbet.nn.scaled_matmul(x, x, half, half).tolist()
      [[[1.0, 1.0], [1.0, 1.0]]]
    """
    lhs, rhs, lhs_scales, rhs_scales = map(rnp.asarray, (lhs, rhs, lhs_scales, rhs_scales))
    shapes = f"lhs {lhs.shape}, rhs {rhs.shape}"
    if lhs.ndim != 3 or rhs.ndim != 3 or lhs.shape[0] != rhs.shape[0] or lhs.shape[2] != rhs.shape[2]:
        raise TypeError(f"scaled_matmul multiplies (B, M, K) by (B, N, K), got {shapes}")
    factors = [_spread("lhs", lhs, lhs_scales), _spread("rhs", rhs, rhs_scales)]
    out = lax.dot_general(*factors, (((2,), (2,)), ((0,), (0,))), preferred_element_type="float32")
    return out.astype(preferred_element_type)


def _spread(name, x, scales):
    """The numbers that values with scales stand for, in float32."""
    if (
        scales.ndim != 3
        or scales.shape[:2] != x.shape[:2]
        or not scales.shape[2]
        or x.shape[2] % scales.shape[2]
    ):
        raise ValueError(
            f"scaled_matmul: {name}_scales {scales.shape} has no scale for blocks of equal size of "
            f"{name} {x.shape}"
        )
    b, m, k = x.shape
    blocks = x.astype("float32").reshape(b, m, scales.shape[2], k // scales.shape[2])
    return (blocks * scales.astype("float32")[..., None]).reshape(x.shape)


def scaled_dot_general(
    lhs: Value,
    rhs: Value,
    dimension_numbers: Any,
    preferred_element_type: DTypeLike | None = np.float32,
    configs: Any = None,
    implementation: Any = None,
) -> Array:
    """``lax.dot_general`` with both factors quantized by blocks of the contracted numbers, and so are the
    factors of its derivative. With nvfp4 for all three the derivative is straight through: that of the
    product of the arrays themselves, and 0 for numbers that are beyond what the format can say.

    Args:
      lhs, rhs: arrays of floats.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      preferred_element_type: the dtype of the result.
      configs: three of ``get_scaled_dot_general_config``: for ``lhs``, ``rhs`` and the cotangent. None:
        nothing is quantized.
      implementation: None, or ``"cudnn"``, which changes nothing: the compiler chooses.

    Returns:
      an array with the batch dimensions, then the other dimensions of ``lhs``, then those of ``rhs``.
      Contracted sizes that are no multiple of the block size are filled up with zeros.

    Raises:
      ValueError: if there are not three configs, or for another implementation.

    Example:
      >>> import rabbet.nn
      >>> configs = [rabbet.nn.get_scaled_dot_general_config("mxfp8")] * 3
      >>> x = rnp.ones((2, 32))
      >>> rabbet.nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs).tolist()
      [[32.0, 32.0], [32.0, 32.0]]
    """
    if implementation not in (None, "cudnn"):
        raise ValueError(f"scaled_dot_general: implementation is None or 'cudnn', got {implementation!r}")
    lhs, rhs = rnp.asarray(lhs), rnp.asarray(rhs)
    if configs is None:
        return lax.dot_general(lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type)
    if len(configs) != 3:
        raise ValueError(
            f"scaled_dot_general: configs are for lhs, rhs and the cotangent, got {len(configs)}"
        )
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    a, batch, left = _as_matrices(lhs, lhs_contract, lhs_batch)
    b, _, right = _as_matrices(rhs, rhs_contract, rhs_batch)
    out = _product(configs)(a, b)
    return out.reshape(*batch, *left, *right).astype(preferred_element_type)


def _as_matrices(x, contract, batch):
    """``x`` as ``(B, M, K)``, with the sizes of its batch dimensions and of those that it keeps."""
    ndim = x.ndim
    contract, batch = [d % ndim for d in contract], [d % ndim for d in batch]
    kept = [d for d in range(ndim) if d not in contract and d not in batch]
    sizes = [[x.shape[d] for d in group] for group in (batch, kept, contract)]
    moved = lax.transpose(x, (*batch, *kept, *contract))
    return moved.reshape([int(np.prod(group, dtype=int)) for group in sizes]), *sizes[:2]


def _product(configs):
    """``(B, M, K) x (B, N, K) -> (B, M, N)`` in float32, quantized by three configs."""
    of_lhs, of_rhs, of_cotangent = configs
    straight = of_cotangent is not None and {config.mode for config in configs} == {"nvfp4"}

    @rabbet.custom_rules
    def product(a, b):
        return _quantized_product(a, b, of_lhs, of_rhs)

    @product.def_rule("vjp")
    def product_vjp(a, b):
        def pull(ct):
            turned = rnp.swapaxes(ct, 1, 2)
            if straight:
                to_a, to_b = rnp.matmul(ct, b), rnp.matmul(turned, a)
                return within_format(a, of_lhs, to_a), within_format(b, of_rhs, to_b)
            to_a = _quantized_product(ct, rnp.swapaxes(b, 1, 2), of_cotangent, of_rhs)
            to_b = _quantized_product(turned, rnp.swapaxes(a, 1, 2), of_cotangent, of_lhs)
            return to_a.astype(a.dtype), to_b.astype(b.dtype)

        return _quantized_product(a, b, of_lhs, of_rhs), pull

    return product


def within_format(x, config, gradient):
    """The gradient by ``x``, 0 where a number is beyond the largest that format and scales can say."""
    largest = dtypes.spec(config.data_type).largest * dtypes.spec(config.scale_type).largest
    inside = rnp.abs(x.astype("float32")) <= float(largest) * _scalar(config.global_scale)
    return rnp.where(inside, gradient, 0).astype(x.dtype)


def _quantized_product(a, b, of_a, of_b):
    a, b = _whole_blocks(a, b, of_a, of_b)
    (a, a_scales), (b, b_scales) = quantize_blocks(a, of_a), quantize_blocks(b, of_b)
    out = scaled_matmul(a, b, a_scales, b_scales)
    for config in (of_a, of_b):
        if config.global_scale is not None:
            out = out * _scalar(config.global_scale)
    return out


def _whole_blocks(a, b, of_a, of_b):
    """Both with zeros after their last dimension, so that blocks fill it."""
    size = int(np.lcm(of_a.block_size, of_b.block_size))
    missing = -a.shape[-1] % size
    return [rnp.pad(x, ((0, 0), (0, 0), (0, missing))) if missing else x for x in (a, b)]


__all__ = [
    "BlockScaleConfig",
    "get_scaled_dot_general_config",
    "quantize_blocks",
    "scaled_dot_general",
    "scaled_matmul",
]
