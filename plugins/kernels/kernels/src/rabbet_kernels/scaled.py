"""Products of numbers of 8 and 4 bits with a scale for each block of neighbours: mxfp8, mxfp4, nvfp4."""

from typing import NamedTuple

import numpy as np
import rabbet as rb
import rabbet.experimental.float8 as float8
import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet import lax

ROWS, COLUMNS, AT_ONCE = 64, 64, 64  # AT_ONCE bytes of each row are unpacked together
# Of a dtype: bits of the exponent and the fraction, and what the exponent counts from.
FORMATS = {"float8_e4m3fn": (4, 3, 7), "float8_e5m2": (5, 2, 15), "float4_e2m1fn": (2, 1, 1)}
SCALES = ("float8_e8m0fnu", "float8_e4m3fn")


def scaled_matmul(lhs, rhs, lhs_scales, rhs_scales, preferred_element_type="float32"):
    """The product of two arrays with scales for blocks of their last dimensions, as
    ``rabbet.nn.scaled_matmul``.

    On NVIDIA GPUs by a kernel that reads the numbers as they are stored and unpacks them in registers, so
    that no array of unpacked numbers is made; the product itself is of bfloat16, which has all digits of an
    unpacked number times its scale. Elsewhere, and for other formats and for sizes that the kernel does not
    have, by plain operations.

    Args:
      lhs: ``(B, M, K)``. rhs: ``(B, N, K)``. Of float8_e4m3fn, float8_e5m2 or float4_e2m1fn, both the same.
      lhs_scales: ``(B, M, K_s)``, rhs_scales: ``(B, N, K_s)``, of float8_e8m0fnu or float8_e4m3fn.
      preferred_element_type: the dtype of the result; sums are float32.

    Returns:
      an array ``(B, M, N)``.

    Raises:
      TypeError, ValueError: for shapes that do not fit.

    Example:
      >>> from rabbet_kernels.scaled import scaled_matmul
      >>> x = rnp.ones((1, 2, 4), "float8_e4m3fn")
      >>> half = rnp.full((1, 2, 2), 0.5, "float8_e8m0fnu")
      >>> scaled_matmul(x, x, half, half).tolist()
      [[[1.0, 1.0], [1.0, 1.0]]]
    """
    arrays = [rnp.asarray(x) for x in (lhs, rhs, lhs_scales, rhs_scales)]
    wanted = preferred_element_type
    plain = lambda *xs: float8.scaled_matmul(*xs, preferred_element_type=wanted)
    if not supports(*arrays):
        return plain(*arrays)
    kernel = lambda *xs: by_kernel(*xs).astype(wanted)
    return lax.platform_dependent(*arrays, cuda=kernel, default=plain)


def supports(lhs, rhs, lhs_scales, rhs_scales):
    shapes = [x.shape for x in (lhs, rhs, lhs_scales, rhs_scales)]
    if [len(s) for s in shapes] != [3] * 4 or not all(isinstance(n, int) and n for s in shapes for n in s):
        return False
    dtype, other, scale, beside = [str(x.dtype) for x in (lhs, rhs, lhs_scales, rhs_scales)]
    if dtype != other or scale != beside or dtype not in FORMATS or scale not in SCALES:
        return False
    (b, m, k), (c, n, l), left, right = shapes
    if b != c or k != l or left[:2] != (b, m) or right[:2] != (b, n) or left[2] != right[2]:
        return False
    per_byte, block = 2 if dtype == "float4_e2m1fn" else 1, k // left[2]
    return block in (16, 32) and k == block * left[2] and k % (AT_ONCE * per_byte) == 0


class Options(NamedTuple):
    """What is known of a call: names of dtypes, and how many numbers share a scale."""

    dtype: str
    scale: str
    block: int


@rb.custom_rules
def by_kernel(lhs, rhs, lhs_scales, rhs_scales):
    options = Options(str(lhs.dtype), str(lhs_scales.dtype), lhs.shape[2] // lhs_scales.shape[2])
    return product(options, *[in_bytes(x) for x in (lhs, rhs, lhs_scales, rhs_scales)])


@by_kernel.def_rule("jvp")
def by_kernel_jvp(primals, tangents):
    return rb.jvp(float8.scaled_matmul, tuple(primals), tuple(tangents))


@by_kernel.def_rule("vjp")
def by_kernel_vjp(*arrays):
    _, pull = rb.vjp(float8.scaled_matmul, *arrays)
    return by_kernel(*arrays), pull


def in_bytes(x):
    """An array as bytes; of numbers of four bits two neighbours in one, the first in the lower half."""
    if x.dtype.itemsize == 1 and "float4" not in str(x.dtype):
        return lax.bitcast_convert_type(x, np.dtype("uint8"))
    return lax.bitcast_convert_type(lax.reshape(x, (*x.shape[:-1], x.shape[-1] // 2, 2)), np.dtype("uint8"))


def numbers(code, dtype):
    """The float32 of codes, int32: of ``dtype``, in their lowest bits."""
    if dtype == "float8_e8m0fnu":
        found = lax.bitcast_convert_type(code << 23, np.dtype("float32"))
        found = rnp.where(code == 0, np.float32(2.0**-127), found)
        return rnp.where(code == 255, np.nan, found)
    exponent, fraction, zero = FORMATS[dtype]
    size = (1 << (exponent + fraction)) - 1
    # Placed as those of a float32 are, the bits are the number but for a power of two. Small ones would be
    # below float32's least normal number, which is zero for some hardware.
    found = lax.bitcast_convert_type((code & size) << (23 - fraction), np.dtype("float32"))
    found = found * np.float32(2.0 ** (127 - zero))
    small = (code & size).astype("float32") * np.float32(2.0 ** (1 - zero - fraction))
    found = rnp.where((code & size) < (1 << fraction), small, found)
    if dtype == "float8_e4m3fn":
        found = rnp.where((code & size) == size, np.nan, found)
    if dtype == "float8_e5m2":
        infinite = size - 3
        found = rnp.where((code & size) == infinite, np.inf, found)
        found = rnp.where((code & size) > infinite, np.nan, found)
    return rnp.where(code > size, -found, found)


def unpacked(part, scales, options):
    """Numbers times scales, in bfloat16: an array, or two of every second number."""
    rows, count = part.shape
    per_byte = 2 if options.dtype == "float4_e2m1fn" else 1
    width = options.block // per_byte
    scale = numbers(scales.astype("int32"), options.scale)
    scale = lax.broadcast_in_dim(scale, (rows, count // width, width), (0, 1))
    scale = lax.reshape(scale, (rows, count))
    code = part.astype("int32")
    codes = [code] if per_byte == 1 else [code & 15, code >> 4]
    return [(numbers(c, options.dtype) * scale).astype("bfloat16") for c in codes]


def product(options, lhs, rhs, lhs_scales, rhs_scales):
    """The kernel: a block of rows and columns for each program, in a loop over the bytes of the rows."""
    batch, m, k = lhs.shape
    n = rhs.shape[1]
    per_byte = 2 if options.dtype == "float4_e2m1fn" else 1
    groups = AT_ONCE * per_byte // options.block

    def kernel(lhs, rhs, lhs_scales, rhs_scales, out):
        def step(i, total):
            place = pl.ds(pl.multiple_of(i * AT_ONCE, AT_ONCE), AT_ONCE)
            scale = pl.ds(i * groups, groups)
            left = unpacked(lhs[:, place], lhs_scales[:, scale], options)
            right = unpacked(rhs[:, place], rhs_scales[:, scale], options)
            for x, y in zip(left, right, strict=True):
                contracted = (((1,), (1,)), ((), ()))
                total = total + lax.dot_general(x, y, contracted, preferred_element_type="float32")
            return total

        init = rnp.zeros(out.shape, "float32")
        out[...] = lax.fori_loop(0, k // AT_ONCE, step, init)

    rows = lambda x, size: pl.BlockSpec((None, size, x.shape[2]), lambda b, i, j: (b, i, 0))
    columns = lambda x, size: pl.BlockSpec((None, size, x.shape[2]), lambda b, i, j: (b, j, 0))
    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((batch, m, n), "float32"), name="scaled_matmul",
        grid=(batch, pl.cdiv(m, ROWS), pl.cdiv(n, COLUMNS)),
        in_specs=[
            rows(lhs, ROWS), columns(rhs, COLUMNS), rows(lhs_scales, ROWS), columns(rhs_scales, COLUMNS),
        ],
        out_specs=pl.BlockSpec((None, ROWS, COLUMNS), lambda b, i, j: (b, i, j)),
    )(lhs, rhs, lhs_scales, rhs_scales)  # fmt: skip


__all__ = ["scaled_matmul"]
