"""Functions on arrays in kernels for TPUs."""

import numpy as np
from rabbet import lax
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas import array_parts


def roll_type(x, shift, *, axis, stride=None, stride_axis=None):
    return ShapedArray(x.shape, x.dtype)


roll_p = Primitive("roll", roll_type, doc="elements moved along a dimension, the last ones to the front")


@roll_p.decompose
def rolled(op, x, shift):
    axis, stride, along = op.params["axis"], op.params.get("stride"), op.params.get("stride_axis")
    shape = typeof(x).shape
    n = shape[axis]
    if stride is None:
        twice = lax.concatenate([x, x], axis)
        starts = [0] * len(shape)
        starts[axis] = lax.sub(np.int32(n), lax.rem(shift, np.int32(n)))
        return lax.dynamic_slice(twice, starts, shape)
    steps = lax.mul(lax.broadcasted_iota("int32", shape, along), np.int32(stride))
    places = lax.sub(lax.broadcasted_iota("int32", shape, axis), lax.add(steps, shift))
    places = lax.rem(lax.add(lax.rem(places, np.int32(n)), np.int32(n)), np.int32(n))
    index = [lax.broadcasted_iota("int32", shape, d) for d in range(len(shape))]
    index[axis] = places
    return x[tuple(index)]


@folded
def roll(x, shift, axis, *, stride=None, stride_axis=None):
    """The elements of ``x`` moved along a dimension, those at the end to the front.

    Args:
      x: an array.
      shift: how far, an integer from 0 on, computed or not.
      axis: along which dimension.
      stride, stride_axis: by how much further at each next place along another dimension.

    Example:
      >>> from rabbet.experimental.pallas import tpu
      >>> tpu.roll(rnp.arange(4), 1, 0).tolist()
      [3, 0, 1, 2]
    """
    x = array_or_tracer(x)
    ndim = typeof(x).ndim
    if isinstance(shift, int) and shift < 0:
        raise ValueError(f"roll: a shift of {shift}\n  to fix: a number from 0 on")
    if (stride is None) != (stride_axis is None):
        raise ValueError("roll: stride and stride_axis belong together")
    shift = np.int32(shift) if isinstance(shift, int) else lax.convert_element_type(shift, "int32")
    more = {} if stride is None else {"stride": int(stride), "stride_axis": stride_axis % ndim}
    return roll_p(x, shift, axis=axis % ndim, **more)


def bitcast_type(x, *, dtype, dim=-2):
    new = ShapedArray((), dtype)
    along = x.ndim + dim
    shape = list(x.shape)
    if x.itemsize != new.itemsize:
        shape[along] = shape[along] * x.itemsize // new.itemsize
    return ShapedArray(tuple(shape), new.dtype)


bitcast_p = Primitive("tpu_bitcast", bitcast_type, doc="the same bits as elements of another size")


@bitcast_p.decompose
def bitcast_parts(op, x):
    if op.params.get("dim", -2) == -2:
        return array_parts.bitcast(x, op.params["dtype"])
    last = [*range(typeof(x).ndim - 2), typeof(x).ndim - 1, typeof(x).ndim - 2]
    return lax.transpose(array_parts.bitcast(lax.transpose(x, last), op.params["dtype"]), last)


@folded
def bitcast(x, ty, dim=-2):
    """The bits of ``x`` as elements of another dtype.

    Args:
      x: an array of at least two dimensions.
      ty: the dtype.
      dim: which dimension gets more or fewer elements where theirs are of another size: -2 or -1.

    Example:
      >>> from rabbet.experimental.pallas import tpu
      >>> tpu.bitcast(rnp.ones((2, 8), "float32"), "uint16").shape
      (4, 8)
    """
    x = array_or_tracer(x)
    aval = typeof(x)
    if dim not in (-2, -1, aval.ndim - 2, aval.ndim - 1) or aval.ndim < 2:
        raise ValueError(f"bitcast: dim={dim} of an array of shape {aval.shape}\n  to fix: -2 or -1")
    dim = dim - aval.ndim if dim >= 0 else dim
    new = ShapedArray((), ty)
    if (aval.shape[dim] * aval.itemsize) % new.itemsize:
        raise ValueError(
            f"bitcast: {aval.shape[dim]} elements of {aval.dtype} are not whole ones of {new.dtype}"
        )
    return bitcast_p(x, dtype=new.dtype, **({} if dim == -2 else {"dim": dim}))


def bits_of(dtype):
    """How many bits an element has, as an integer's name says for the smallest."""
    return {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}.get(str(dtype), 8 * ShapedArray((), dtype).itemsize)


@folded
def pack_elementwise(xs, *, packed_dtype):
    """Arrays of one shape packed into one: an element of each side by side, the first in the lowest bits.

    Args:
      xs: arrays, as many as elements of ``packed_dtype`` have room in one of theirs.
      packed_dtype: the narrower dtype.

    Returns:
      an array of signed integers as wide as the elements of ``xs``.

    Example:
      >>> from rabbet.experimental.pallas import tpu
      >>> int(tpu.pack_elementwise([rnp.int32(1), rnp.int32(2)], packed_dtype="int16"))
      131073
    """
    xs = [array_or_tracer(x) for x in xs]
    aval, narrow = typeof(xs[0]), ShapedArray((), packed_dtype)
    width, bits = 8 * aval.itemsize, bits_of(narrow.dtype)
    if len(xs) * bits != width:
        raise ValueError(f"pack_elementwise: {width // bits} arrays are wanted, got {len(xs)}")
    word = f"uint{width}"
    out = lax.full(aval.shape, 0, word)
    for i, x in enumerate(xs):
        if narrow.kind == "f":
            code = lax.bitcast_convert_type(lax.convert_element_type(x, narrow.dtype), f"uint{bits}")
            code = lax.convert_element_type(code, word)
        else:
            code = lax.bitwise_and(lax.bitcast_convert_type(x, word), np.dtype(word).type(2**bits - 1))
        out = lax.bitwise_or(out, lax.shift_left(code, np.dtype(word).type(i * bits)))
    return lax.bitcast_convert_type(out, f"int{width}")


@folded
def unpack_elementwise(x, *, index, packed_dtype, unpacked_dtype):
    """One of the arrays that ``pack_elementwise`` packed.

    Args:
      x: the packed array, of integers.
      index: which one.
      packed_dtype: the dtype that it was packed as.
      unpacked_dtype: the dtype of the result.

    Example:
      >>> from rabbet.experimental.pallas import tpu
      >>> packed = rnp.int32(131073)
      >>> int(tpu.unpack_elementwise(packed, index=1, packed_dtype="int16", unpacked_dtype="int32"))
      2
    """
    x = array_or_tracer(x)
    width, narrow = 8 * typeof(x).itemsize, ShapedArray((), packed_dtype)
    bits = bits_of(narrow.dtype)
    word = np.dtype(f"int{width}").type
    high = lax.shift_left(lax.bitcast_convert_type(x, f"int{width}"), word(width - bits * (index + 1)))
    if narrow.kind != "f":
        return lax.convert_element_type(lax.shift_right_arithmetic(high, word(width - bits)), unpacked_dtype)
    code = lax.convert_element_type(lax.shift_right_logical(high, word(width - bits)), f"uint{bits}")
    return lax.convert_element_type(lax.bitcast_convert_type(code, narrow.dtype), unpacked_dtype)


@folded
def with_memory_space_constraint(x, memory_space):
    """``x``, which a compiler is asked to keep in some memory; a hint."""
    return x


__all__ = [
    "bitcast",
    "bitcast_p",
    "pack_elementwise",
    "roll",
    "roll_p",
    "unpack_elementwise",
    "with_memory_space_constraint",
]
