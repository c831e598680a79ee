"""From a ``BlockSpec`` and an array's type to a ``Block``."""

import inspect
import operator

import numpy as np
from rabbet import lax, tree
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas import indexing, program_ids, programs
from rabbet_pallas.block_specs import (
    Blocked,
    BoundedSlice,
    Element,
    Indirect,
    MemoryRef,
    MemorySpace,
    Squeezed,
)
from rabbet_pallas.calls import Block
from rabbet_pallas.references import Ref

I32 = ShapedArray((), "int32")


def block(spec, array, grid, prefetch, prefetch_tree, what):
    """How an array is cut.

    Args:
      spec: a ``BlockSpec``.
      array: the array's type.
      grid: the grid's sizes, None where they are computed.
      prefetch: the types of the prefetched arrays.
      prefetch_tree: the structure of the operands that they are leaves of.
      what: what the array is called in messages.
    """
    dims = dims_of(spec.block_shape, array, what)
    index = index_program(spec.index_map, dims, grid, prefetch, prefetch_tree, what)
    return Block(dims, index, array, spec.memory_space, spec.pipeline_mode)


def dims_of(shape, array, what):
    """The kinds of a block's dimensions."""
    if shape is None:
        return tuple([Blocked(n) for n in array.shape])
    if len(shape) != array.ndim:
        raise ValueError(
            f"{what}: block_shape {tuple(shape)} has {len(shape)} dimensions, the array {array.str_short()} "
            f"has {array.ndim}\n  to fix: one entry for each dimension; None where a block has one element"
        )
    return tuple([dim_of(d, what) for d in shape])


def dim_of(entry, what):
    if entry is None or entry is Squeezed or isinstance(entry, Squeezed):
        return Squeezed()
    if isinstance(entry, Indirect):
        raise NotImplementedError(
            f"{what}: Indirect blocks are for SparseCore, for which no kernels are written"
        )
    if isinstance(entry, (Blocked, Element, BoundedSlice)):
        size = entry.block_size
    elif isinstance(entry, (int, np.integer)):
        size = operator.index(entry)
        entry = Blocked(size)
    else:
        raise TypeError(
            f"{what}: {entry!r:.40} in block_shape\n"
            "  to fix: an int, None, Blocked, Squeezed, Element or BoundedSlice"
        )
    if size < 1:
        raise ValueError(f"{what}: block_shape has the size {size}\n  to fix: sizes from 1 on")
    return entry


def index_program(index_map, dims, grid, prefetch, prefetch_tree, what):
    """The index map as a program."""

    def index(*args):
        own, sizes, scalars = programs.split(args, grid)
        if index_map is None:
            return [np.int32(0)] * sum(1 + isinstance(d, BoundedSlice) for d in dims)
        refs = [Ref(a, x, MemorySpace.SMEM) for a, x in zip(prefetch, scalars, strict=True)]
        given = [*own, *tree.unflatten(prefetch_tree, refs)]
        check_arguments(
            index_map, given, {}, f"{what}: its index_map",
            f"{len(own)} indices of the grid{f' and {len(refs)} prefetched references' if refs else ''}",
        )  # fmt: skip
        with program_ids.within(own, sizes):
            found = index_map(*given)
        found = tuple(found) if isinstance(found, (list, tuple)) else (found,)
        if len(found) != len(dims):
            raise ValueError(
                f"{what}: index_map returned {len(found)} indices for a block of {len(dims)} dimensions\n"
                "  to fix: one for each entry of block_shape, None entries included"
            )
        return [i for d, x in zip(dims, found, strict=True) for i in indices(d, x, what)]

    avals = [I32] * (len(grid) + grid.count(None)) + list(prefetch)
    return programs.closed_over_nothing(index, avals, "index_map", f"{what}: its index_map")


def check_arguments(function, args, named, what, said):
    """Refuse a function that does not take its arguments, before it is called.

    Args:
      what: the function in messages; ``said``: what it is given.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of compiled functions nothing is known
        return
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        raise TypeError(
            f"{what} {signature} is given {said}: {error}\n  to fix: one parameter for each"
        ) from None


def indices(dim, given, what):
    """The i32 that an index map gives for a dimension, two for a ``BoundedSlice``."""
    if isinstance(dim, BoundedSlice):
        if isinstance(given, slice):
            return [number(given.start or 0, what), number(given.stop - (given.start or 0), what)]
        if isinstance(given, indexing.Slice):
            return [number(given.start, what), number(given.size, what)]
        raise TypeError(
            f"{what}: index_map gives {given!r:.40} for a BoundedSlice\n  to fix: ds(start, size)"
        )
    return [number(given, what)]


def number(x, what):
    """An integer as i32."""
    if isinstance(x, (int, np.integer)):
        return np.int32(x)
    x = array_or_tracer(x)
    aval = typeof(x)
    if aval.shape or aval.kind not in "iu":
        raise TypeError(
            f"{what}: index_map returned {aval.str_short()}\n  to fix: integers without dimensions"
        )
    return lax.convert_element_type(x, "int32")


def is_memory(x):
    """Whether something is the type of a reference, with a memory space."""
    return isinstance(x, MemoryRef)


__all__ = ["I32", "block", "check_arguments", "is_memory"]
