"""Sorting and the largest elements."""

from rabbet.interpreter import typeof
from rabbet.lax.shapes import transpose
from rabbet.primitives import sort as _sort
from rabbet.primitives.checks import axis_in_range


def sort(operand, dimension=-1, is_stable=True, num_keys=1):
    """An array sorted along ``dimension``, or several arrays of one shape sorted by the first of them.

    NaN comes last, -0.0 and 0.0 are equal, complex numbers go by real part and then by imaginary part.

    Args:
      operand: an array or a sequence of arrays.
      dimension: along which to sort.
      is_stable: True: equal elements keep their order.
      num_keys: by how many of the arrays to sort; where the first are equal, the second decides, and so on.

    Returns:
      the sorted array, or a tuple of the arrays.
    """
    several = isinstance(operand, (tuple, list))
    operands = tuple(operand) if several else (operand,)
    if not operands:
        raise TypeError("sort needs at least one array, got an empty sequence")
    dimension = axis_in_range("sort", dimension.__index__(), typeof(operands[0]).ndim)
    outs = _sort.sort(
        *operands, dimension=dimension, is_stable=bool(is_stable), num_keys=num_keys.__index__()
    )
    return tuple(outs) if several else outs[0]


def sort_key_val(keys, values, dimension=-1, is_stable=True):
    """``keys`` sorted along ``dimension``, and ``values`` moved along with them."""
    return sort((keys, values), dimension, is_stable, 1)


def top_k(operand, k, *, axis=-1):
    """The ``k`` largest elements along ``axis``, from the largest on, and their positions (int32).

    Among equal elements the first ones are taken; NaN counts as the largest.
    """
    ndim = typeof(operand).ndim
    axis = axis_in_range("top_k", axis.__index__(), ndim)
    if axis == ndim - 1:
        return tuple(_sort.top_k(operand, k=k.__index__()))
    order = (*[d for d in range(ndim) if d != axis], axis)
    back = tuple([order.index(d) for d in range(ndim)])
    return tuple([transpose(x, back) for x in _sort.top_k(transpose(operand, order), k=k.__index__())])


__all__ = ["sort", "sort_key_val", "top_k"]
