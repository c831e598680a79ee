"""Sorting and the largest elements."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from rabbet import lax
from rabbet.errors import ShapeError
from rabbet.extend.primitive import accept
from rabbet.extend.rules import axis_in_range
from rabbet.extend.transform import typeof

from rabbet_algorithms import primitives

if TYPE_CHECKING:
    from rabbet.typing import Value


def sort(operand: Value, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """An array sorted along ``dimension``, or several arrays of one shape sorted by the first of them.

    NaN comes last, -0.0 and 0.0 are equal, complex numbers go by real part and then by imaginary part.

    Args:
      operand: an array or a sequence of arrays.
      dimension: along which to sort.
      is_stable: True: equal elements keep their order.
      num_keys: by how many of the arrays to sort; where the first are equal, the second decides, and so on.

    Returns:
      the sorted array, or a tuple of the arrays.

    Example:
      >>> lax.sort(rnp.array([3, 1, 2]))
      Array([1, 2, 3], dtype=int32)
      >>> lax.sort((rnp.array([3, 1, 2]), rnp.array([30, 10, 20])), num_keys=1)
      (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """
    several = isinstance(operand, (tuple, list))
    operands = tuple(operand) if several else (operand,)
    if not operands:
        raise ShapeError("sort needs at least one array, got an empty sequence")
    dimension = axis_in_range("sort", operator.index(dimension), typeof(operands[0]).ndim)
    outs = primitives.sort(
        *operands, dimension=dimension, is_stable=bool(is_stable), num_keys=operator.index(num_keys)
    )
    return tuple(outs) if several else outs[0]


def sort_key_val(
    keys: Value, values: Value, dimension: int = -1, is_stable: bool = True
) -> tuple[Value, Value]:
    """``keys`` sorted along ``dimension``, and ``values`` moved along with them.

    Example:
      >>> lax.sort_key_val(rnp.array([3, 1, 2]), rnp.array([30, 10, 20]))
      (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """
    return sort((keys, values), dimension, is_stable, 1)


def top_k(operand: Value, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Value]:
    """The ``k`` largest elements along ``axis``, from the largest on, and their positions (int32).

    Among equal elements the first ones are taken, in their order, also where ``is_stable=False`` does not
    ask for that; NaN counts as the largest.

    Example:
      >>> lax.top_k(rnp.array([3, 1, 4]), 2)
      [Array([4, 3], dtype=int32), Array([2, 0], dtype=int32)]
    """
    ndim = typeof(operand).ndim
    axis = axis_in_range("top_k", operator.index(axis), ndim)
    if axis == ndim - 1:
        return list(primitives.top_k(operand, k=operator.index(k)))
    order = (*[d for d in range(ndim) if d != axis], axis)
    back = tuple([order.index(d) for d in range(ndim)])
    found = primitives.top_k(lax.transpose(operand, order), k=operator.index(k))
    return [lax.transpose(x, back) for x in found]


def approx_max_k(
    operand: Value, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
    reduction_input_size_override: int = -1, aggregate_to_topk: bool = True,
) -> list[Value]:  # fmt: skip
    """The ``k`` largest elements along a dimension, from the largest on, and their positions (int32).

    JAX's search that may miss some of them. Here none is missed, on any backend: ``recall_target``
    and ``reduction_input_size_override`` can only loosen what is asked for, and without
    ``aggregate_to_topk`` just the ``k`` largest are returned, too.

    Args:
      operand: an array of floats.
      k: how many.
      reduction_dimension: along which to search.

    Returns:
      [values, positions], of size ``k`` along that dimension.

    Example:
      >>> lax.approx_max_k(rnp.array([3.0, 1.0, 4.0]), 2)
      [Array([4., 3.], dtype=float32), Array([2, 0], dtype=int32)]
    """
    return _approximately("approx_max_k", operand, k, reduction_dimension, recall_target)


def approx_min_k(
    operand: Value, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
    reduction_input_size_override: int = -1, aggregate_to_topk: bool = True,
) -> list[Value]:  # fmt: skip
    """The ``k`` smallest elements along a dimension, from the smallest on, and their positions; see
    ``approx_max_k``, also for ``reduction_input_size_override`` and ``aggregate_to_topk``, which have no
    effect.

    Example:
      >>> lax.approx_min_k(rnp.array([3.0, 1.0, 4.0]), 2)
      [Array([1., 3.], dtype=float32), Array([1, 0], dtype=int32)]
    """
    values, places = _approximately("approx_min_k", lax.neg(operand), k, reduction_dimension, recall_target)
    return [lax.neg(values), places]


def _approximately(name, operand, k, dimension, recall):
    accept(name, "f", typeof(operand))
    if not 0.0 < recall <= 1.0:
        raise ShapeError(f"{name}: recall_target must be above 0 and at most 1, got {recall}")
    if k < 1:
        raise ShapeError(f"{name}: k must be positive, got {k}")
    return top_k(operand, k, axis=dimension)


__all__ = ["approx_max_k", "approx_min_k", "sort", "sort_key_val", "top_k"]
