"""Products of matrices whose rows come in groups, and products of scaled low-precision arrays.

Rows of the left operand that belong to group ``i`` are multiplied by matrix ``i`` of the right one: a layer
of experts. Matrices are multiplied in tiles of rows of one group each (``primitives.grouped``), so that the
arithmetic does not grow with the number of groups. Products with batch dimensions, or with groups of their
own
for each, are made of one ``dot_general`` over masked copies of the left operand, one copy per group, which
costs ``groups`` times the arithmetic.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, NamedTuple

from rabbet import dtypes
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.functions import array_or_tracer, obeys_out_sharding
from rabbet.extend.primitive import canonical_precision
from rabbet.extend.transform import typeof
from rabbet.lax import (
    bitwise_and,
    broadcast_in_dim,
    broadcasted_iota,
    convert_element_type,
    cumsum,
    dot_general,
    dynamic_slice_in_dim,
    expand_dims,
    full_like,
    ge,
    lt,
    mul,
    reshape,
    select_n,
    sub,
    transpose,
)

from rabbet_algorithms.primitives.grouped import grouped_dot, grouped_outer

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import DTypeLike, Value


class RaggedDotDimensionNumbers(NamedTuple):
    """Which dimensions of a ragged product are what.

    dot_dimension_numbers: as ``dot_general`` takes them. lhs_ragged_dimensions: the one dimension of the left
    operand whose elements come in groups. rhs_group_dimensions: the dimension of the right operand with a
    matrix per group; none unless the ragged dimension is neither contracted nor a batch dimension.

    Example:
      >>> lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]).lhs_ragged_dimensions
      [0]
    """

    dot_dimension_numbers: tuple
    lhs_ragged_dimensions: tuple
    rhs_group_dimensions: tuple


@obeys_out_sharding
def ragged_dot(
    lhs: Value,
    rhs: Value,
    group_sizes: Value,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: Value | None = None,
    out_sharding: Any = None,
) -> Value:
    """Rows of ``lhs``, in consecutive groups, times a matrix per group.

    Args:
      lhs: of shape ``(m, k)``.
      rhs: of shape ``(g, k, n)``.
      group_sizes: ``g`` integers: how many rows each group has. Rows after the last group give zeros.
      precision, preferred_element_type: see ``dot_general``.
      group_offset: the group of ``group_sizes`` to which the first matrix of ``rhs`` belongs; rows of
        groups without a matrix give zeros.

    Returns:
      an array of shape ``(m, n)``.

    Example:
      >>> lax.ragged_dot(rnp.ones((5, 2)), rnp.ones((2, 2, 3)), rnp.array([2, 3])).shape
      (5, 3)
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(lhs, rhs, group_sizes, numbers, precision, preferred_element_type, group_offset)


@obeys_out_sharding
def ragged_dot_general(
    lhs: Value,
    rhs: Value,
    group_sizes: Value,
    ragged_dot_dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: Value | None = None,
    out_sharding: Any = None,
) -> Value:
    """``dot_general`` with one dimension of ``lhs`` in groups of computed sizes.

    What that means depends on the ragged dimension. Neither contracted nor a batch dimension: each group has
    a matrix along the group dimension of ``rhs``. Contracted: there is a sum per group, along a new first
    dimension of the result. A batch dimension: the groups make no difference.

    Args:
      lhs, rhs: arrays.
      group_sizes: integers of shape ``(g,)``, or with leading dimensions: the batch dimensions, then those
        of the ragged one's sort (contracted or neither) that stand before it.
      ragged_dot_dimension_numbers: a ``RaggedDotDimensionNumbers``.
      precision, preferred_element_type: see ``dot_general``.
      group_offset: the group to start from, where there is a matrix per group.

    Raises:
      TypeError, ValueError: if numbers and shapes do not fit.

    Example:
      >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
      >>> lax.ragged_dot_general(rnp.ones((3, 2)), rnp.ones((2, 2, 2)), rnp.array([1, 2]), numbers)
      Array([[2., 2.],
             [2., 2.],
             [2., 2.]], dtype=float32)
    """
    numbers = ragged_dot_dimension_numbers
    lhs, rhs, group_sizes = array_or_tracer(lhs), array_or_tracer(rhs), array_or_tracer(group_sizes)
    x, y = typeof(lhs), typeof(rhs)
    ragged = _only("lhs_ragged_dimensions", numbers.lhs_ragged_dimensions, x.ndim)
    (contract, other_contract), (batch, other_batch) = [
        (tuple(a), tuple(b)) for a, b in numbers.dot_dimension_numbers
    ]
    sizes = typeof(group_sizes)
    if dtypes.kind(sizes.dtype) not in "iu" or not sizes.ndim:
        raise DTypeError(f"ragged_dot_general: group_sizes must be integers, got {sizes.str_short()}")
    kept = tuple([d for d in range(x.ndim) if d not in contract and d not in batch])
    if ragged in kept:
        group = _only("rhs_group_dimensions", numbers.rhs_group_dimensions, y.ndim)
        if x.ndim == 2 and y.ndim == 3 and sizes.ndim == 1 and len(contract) == 1:
            other = next(d for d in range(3) if d not in (group, *other_contract))
            rhs = transpose(rhs, (group, *other_contract, other))
            rows = lhs if ragged == 0 else transpose(lhs, (1, 0))
            bounds = _bounds(group_sizes, y.shape[group], group_offset)
            said = _said(precision, preferred_element_type, group_offset is None)
            return grouped_dot(rows, rhs, *bounds, **said)
        outer = (*batch, *[d for d in kept if d < ragged])
        mask = _membership(x, group_sizes, ragged, outer, y.shape[group], group_offset)
        # Of the copies of lhs, one per matrix, all but one are zero in each row: their products are added up.
        pairs = ((*contract, x.ndim), (*other_contract, group)), (batch, other_batch)
        return dot_general(_masked(lhs, mask), rhs, pairs, precision, preferred_element_type)
    if tuple(numbers.rhs_group_dimensions):
        raise ShapeError(
            "ragged_dot_general: rhs_group_dimensions must be empty where the ragged dimension is a "
            f"contracting or a batch dimension, got {numbers.rhs_group_dimensions}"
        )
    if group_offset is not None:
        raise NotImplementedError(
            "ragged_dot_general: group_offset has a meaning only where rhs has a matrix per group"
        )
    pairs = (contract, other_contract), (batch, other_batch)
    if ragged in batch:
        return dot_general(lhs, rhs, pairs, precision, preferred_element_type)
    if x.ndim == y.ndim == 2 and sizes.ndim == 1 and len(contract) == 1:
        rows = lhs if ragged == 0 else transpose(lhs, (1, 0))
        others = rhs if other_contract == (0,) else transpose(rhs, (1, 0))
        bounds = _bounds(group_sizes, sizes.shape[0], None)
        return grouped_outer(rows, others, *bounds, **_said(precision, preferred_element_type, True))
    outer = (*batch, *contract[: contract.index(ragged)])
    mask = _membership(x, group_sizes, ragged, outer, sizes.shape[-1], None)
    out = dot_general(_masked(lhs, mask), rhs, pairs, precision, preferred_element_type)
    # The groups are the last of what is left of lhs.
    place = len(batch) + len(kept)
    return transpose(out, (place, *[d for d in range(typeof(out).ndim) if d != place]))


def _only(what, dims, ndim):
    dims = tuple(dims)
    if len(dims) != 1:
        raise ShapeError(f"ragged_dot_general: {what} must name one dimension, got {dims}")
    axis = operator.index(dims[0])
    if not -ndim <= axis < ndim:
        raise ShapeError(f"{what}: axis {axis} is out of range for an array of {ndim} dimensions")
    return axis % ndim


def _membership(x, group_sizes, ragged, outer, groups, offset):
    """Booleans of the shape of ``x`` and one more dimension: whether an element is in group ``i``."""
    sizes = typeof(group_sizes)
    if sizes.ndim == 1:
        outer = ()
    wanted = tuple([x.shape[d] for d in outer])
    if sizes.shape[:-1] != wanted:
        raise ShapeError(
            f"ragged_dot_general: group_sizes {sizes.str_short()} must have the shape (groups,) or "
            f"{(*wanted, 'groups')}"
        )
    starts, ends = _bounds(group_sizes, groups, offset)
    full = (*x.shape, groups)
    place = broadcasted_iota(sizes.dtype, full, ragged)
    order = tuple(sorted(range(len(outer)), key=lambda i: outer[i]))
    dims = (*sorted(outer), x.ndim)

    def spread(a):
        return broadcast_in_dim(transpose(a, (*order, len(outer))), full, dims)

    return bitwise_and(ge(place, spread(starts)), lt(place, spread(ends)))


def _said(precision, preferred, one_by_one):
    """Parameters of a product, those that are given."""
    given = {"precision": canonical_precision(precision), "preferred": preferred}
    return {name: value for name, value in given.items() if value is not None} | {"one_by_one": one_by_one}


def _bounds(group_sizes, groups, offset):
    """Where groups begin and end, ``groups`` of them from number ``offset`` on."""
    sizes = typeof(group_sizes)
    last = sizes.ndim - 1
    ends = cumsum(group_sizes, last)
    starts = sub(ends, group_sizes)
    if offset is not None or groups != sizes.shape[last]:
        starts, ends = [_from(a, offset, groups) for a in (starts, ends)]
    return starts, ends


def _from(bounds, offset, groups):
    """``groups`` entries along the last dimension, from number ``offset`` on."""
    aval = typeof(bounds)
    if groups > aval.shape[-1] or (offset is None and groups != aval.shape[-1]):
        raise ShapeError(
            f"ragged_dot_general: rhs has {groups} matrices, group_sizes has {aval.shape[-1]} groups; "
            "without group_offset they must be as many"
        )
    start = 0 if offset is None else offset
    if typeof(start).shape == (1,):
        start = reshape(start, ())
    return dynamic_slice_in_dim(bounds, start, groups, aval.ndim - 1)


def _masked(lhs, mask):
    aval = typeof(lhs)
    copies = broadcast_in_dim(lhs, typeof(mask).shape, tuple(range(aval.ndim)))
    return select_n(mask, full_like(copies, 0), copies)


# ----------------------------------------------------------------------------------------- scaled
def scaled_dot(
    lhs: Value,
    rhs: Value,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Value:
    """``(lhs * lhs_scale)`` times ``(rhs * rhs_scale)``, for operands of low precision.

    Args:
      lhs, rhs: arrays.
      lhs_scale, rhs_scale: arrays of the rank of their operand, or None for 1. Each size divides that of the
        operand: a scale counts for as many consecutive elements.
      dimension_numbers: see ``dot_general``; by default those of a matrix product, or for three dimensions
        of a stack of them.
      preferred_element_type: the dtype of scaled operands, sums and result; by default bfloat16.

    Raises:
      TypeError: if the sizes of a scale do not divide those of its operand.

    Example:
      >>> lax.scaled_dot(rnp.ones((2, 4)), rnp.ones((4, 3)), dimension_numbers=(((1,), (0,)), ((), ()))).shape
      (2, 3)
    """
    if dimension_numbers is None:
        batch = tuple(range(typeof(lhs).ndim - 2))
        n = len(batch)
        dimension_numbers = ((n + 1,), (n,)), (batch, batch)
    dtype = dtypes.requested("bfloat16" if preferred_element_type is None else preferred_element_type)
    left, right = (
        _scaled(name, x, scale, dtype)
        for name, x, scale in (("lhs", lhs, lhs_scale), ("rhs", rhs, rhs_scale))
    )
    return dot_general(left, right, dimension_numbers, preferred_element_type=dtype)


def _scaled(name, x, scale, dtype):
    if scale is None:
        return convert_element_type(x, dtype)
    have, given = typeof(x), typeof(scale)
    if have.ndim != given.ndim or any(s == 0 or n % s for n, s in zip(have.shape, given.shape, strict=True)):
        raise ShapeError(
            f"scaled_dot: {name}_scale {given.str_short()} must have the rank of {name}, {have.str_short()}, "
            "and sizes that divide its sizes"
        )
    inner = tuple(range(1, 2 * have.ndim, 2))
    pairs = [n for size, s in zip(have.shape, given.shape, strict=True) for n in (s, size // s)]
    each = broadcast_in_dim(expand_dims(scale, inner), tuple(pairs), tuple(range(2 * have.ndim)))
    each = reshape(each, have.shape)
    return mul(convert_element_type(x, dtype), convert_element_type(each, dtype))


__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "scaled_dot"]
