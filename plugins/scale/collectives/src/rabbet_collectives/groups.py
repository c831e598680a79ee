"""Members of an axis in groups, each of which communicates within itself; members are the first dimension."""

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import concatenate, gather, new_axis, reshape
from rabbet.extend.transform import typeof


def rows(x, indices):
    """The slices of ``x`` along its first dimension at static indices."""
    aval = typeof(x)
    if list(indices) == list(range(aval.shape[0])):
        return x
    numbers = lax.GatherDimensionNumbers(tuple(range(1, aval.ndim)), (0,), (0,))
    flat = np.asarray(indices, "int32")[:, None]
    return gather(
        x, flat, dimension_numbers=numbers, slice_sizes=(1, *aval.shape[1:]), indices_are_sorted=False,
        unique_indices=False, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS, fill_value=None,
    )  # fmt: skip


def reshaped(x, new_sizes):
    """``x`` in another shape."""
    return reshape(x, new_sizes=tuple(new_sizes))


def by_group(x, groups):
    """``[members of the axis, ...]`` as ``[group, member, ...]``, for groups of one size."""
    order = [i for group in groups for i in group]
    return reshaped(rows(x, order), (len(groups), len(groups[0]), *typeof(x).shape[1:]))


def by_member(x, groups):
    """The inverse of ``by_group``."""
    order = [i for group in groups for i in group]
    flat = reshaped(x, (len(order), *typeof(x).shape[2:]))
    return rows(flat, sorted(range(len(order)), key=order.__getitem__))


def reduced_in_groups(reduce, x, groups):
    """``[members, ...]``: each member has the reduction of its group. Groups may differ in size."""
    order = [i for group in groups for i in group]
    parts = [new_axis(reduce(rows(x, group), axes=(0,)), 0, len(group)) for group in groups]
    flat = concatenate(*parts, dimension=0)
    return rows(flat, sorted(range(len(order)), key=order.__getitem__))


__all__ = ["by_group", "by_member", "reduced_in_groups", "rows"]
