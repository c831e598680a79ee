"""Small functions of sizes, of arrays, and hints."""

from rabbet import lax
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import typeof


@folded
def cdiv(a, b):
    """``a`` divided by ``b``, rounded up.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.cdiv(10, 4)
      3
    """
    return (a + b - 1) // b


@folded
def align_to(a, alignment):
    """The least multiple of ``alignment`` from ``a`` on.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.align_to(10, 4)
      12
    """
    return cdiv(a, alignment) * alignment


@folded
def next_power_of_2(x):
    """The least power of two from ``x`` on, an int.

    Raises:
      ValueError: for numbers below 0.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.next_power_of_2(10)
      16
    """
    if x < 0:
        raise ValueError(f"next_power_of_2({x}): a number from 0 on is wanted")
    return 1 << max(0, x - 1).bit_length()


@folded
def strides_from_shape(shape):
    """How many elements lie between neighbours along each dimension.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.strides_from_shape((2, 3, 4))
      (12, 4, 1)
    """
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(strides[::-1]) if shape else ()


@folded
def broadcast_to(a, shape):
    """``a`` spread to a shape, as ``rabbet.numpy.broadcast_to`` does it.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.broadcast_to(rnp.arange(2), (3, 2)).shape
      (3, 2)
    """
    a = array_or_tracer(a)
    first = len(shape) - typeof(a).ndim
    return lax.broadcast_in_dim(a, tuple(shape), tuple(range(first, len(shape))))


@folded
def empty(shape, dtype):
    """An array of which nothing is known, to be written by a kernel.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.empty((2, 3), "float32").shape
      (2, 3)
    """
    return lax.full(tuple(shape), 0, dtype)


@folded
def empty_like(x):
    """An array like another, or like a type, of which nothing is known.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.empty_like(rnp.arange(3)).shape
      (3,)
    """
    return empty(x.shape, x.dtype)


multiple_of_p = Primitive(
    "multiple_of", lambda x, *, values: x, kinds=("elementwise",), doc="the same integer, a multiple of some"
)
multiple_of_p.decompose(lambda op, x: x)
reciprocal_p = Primitive(
    "reciprocal",
    lambda x, *, approx=False: x,
    kinds=("elementwise",),
    doc="1 / x, about right where asked for",
)
reciprocal_p.decompose(lambda op, x: lax.div(lax.full(typeof(x).shape, 1, typeof(x).dtype), x))
approx_tanh_p = Primitive("approx_tanh", lambda x: x, kinds=("elementwise",), doc="the tangens hyperbolicus")
approx_tanh_p.decompose(lambda op, x: lax.tanh(x))


@folded
def multiple_of(x, values):
    """``x``, of which the compiler may assume that it is a multiple of a number.

    Args:
      x: an integer, or an array of integers.
      values: an int, or several, all of which divide it.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.multiple_of(256, 128)
      256
    """
    values = (values,) if isinstance(values, int) else tuple(values)
    if isinstance(x, int):
        wrong = [v for v in values if x % v]
        if wrong:
            raise ValueError(f"multiple_of: {x} is not a multiple of {wrong[0]}")
        return x
    return multiple_of_p(array_or_tracer(x), values=values)


@folded
def reciprocal(x, *, approx=False, full_range=True):
    """``1 / x``.

    Args:
      approx: whether about right is right enough, where hardware is faster so; on the CPU it is exact.
      full_range: a hint for TPUs.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> float(pl.reciprocal(rnp.float32(4)))
      0.25
    """
    return reciprocal_p(array_or_tracer(x), approx=True) if approx else reciprocal_p(array_or_tracer(x))


@folded
def approx_tanh(x):
    """The tangens hyperbolicus, about right where hardware is faster so; on the CPU exact.

    Example:
      >>> from rabbet.experimental.pallas import triton
      >>> float(triton.approx_tanh(rnp.float32(0)))
      0.0
    """
    return approx_tanh_p(array_or_tracer(x))


__all__ = [
    "align_to",
    "approx_tanh",
    "approx_tanh_p",
    "broadcast_to",
    "cdiv",
    "empty",
    "empty_like",
    "multiple_of",
    "multiple_of_p",
    "next_power_of_2",
    "reciprocal",
    "reciprocal_p",
    "strides_from_shape",
]
