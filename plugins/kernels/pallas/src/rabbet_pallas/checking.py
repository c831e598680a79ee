"""What is wrong with a call, found before it runs: blocks outside of arrays, results that two write."""

import math

import numpy as np

from rabbet_pallas.block_specs import Blocked, BoundedSlice, Element
from rabbet_pallas.index_values import index_values, places

MOST = 1 << 16  # programs; of larger grids nothing is looked at
MOST_PAIRS = 1 << 10  # programs whose blocks by elements are compared with each other


def check(call):
    """Refuse a call whose blocks do not fit the arrays, or whose programs may get into each other's way.

    Raises:
      ValueError: says which block, which programs, and what to do.
    """
    if None in call.grid or not 0 < math.prod(call.grid) <= MOST:
        return
    for what, blocks in (("operand", call.ins), ("result", call.outs)):
        for i, block in enumerate(blocks):
            found = index_values(call.grid, block.index)
            if found is None:
                continue
            name = f"kernel {call.name!r}: {what} {i}"
            inside(call, name, block, found)
            if what == "result":
                apart(call, name, found)
                not_overlapping(call, name, block, found)


def inside(call, name, block, found):
    """Refuse blocks that lie outside of the array."""
    values = iter(found)
    for d, (dim, size) in enumerate(zip(block.dims, block.array.shape, strict=True)):
        at = next(values)
        most = next(values) if isinstance(dim, BoundedSlice) else None
        if isinstance(dim, Element):
            last, unit = size + sum(dim.padding) - dim.block_size, "element"
        elif isinstance(dim, BoundedSlice):
            last, unit = size - most, "element"
        else:
            last, unit = -(-size // dim.block_size) - 1, "block"
        wrong = np.flatnonzero((at < 0) | (at > last))
        if wrong.size:
            limit = int(np.broadcast_to(last, at.shape)[wrong[0]])
            raise ValueError(
                f"{name}: index_map gives {unit} {int(at[wrong[0]])} along dimension {d} to program "
                f"{program(call, wrong[0])}; {unit}s from 0 to {limit} are there, of an array of shape "
                f"{block.array.shape} in blocks of {shown(block)}\n"
                "  to fix: the index map, the grid, or the block's shape"
            )


def apart(call, name, found):
    """Refuse results that programs write which may run at the same time."""
    parallel = [d for d, s in enumerate(call.semantics) if s != "arbitrary"]
    if not parallel:
        return
    ids = places(call.grid)
    blocks = np.stack([*found, np.zeros(ids.shape[1], np.int64)])  # so that there is a row
    _, place, which = np.unique(blocks, axis=1, return_index=True, return_inverse=True)
    first = place[which.reshape(-1)]
    for d in parallel:
        wrong = np.flatnonzero(ids[d] != ids[d][first])
        if wrong.size:
            raise ValueError(
                f"{name}: programs {program(call, first[wrong[0]])} and {program(call, wrong[0])} write one "
                f"block, and dimension {d} of the grid is {call.semantics[d]!r}: they may run at one time\n"
                "  to fix: dimension_semantics 'arbitrary' for it, or another index map"
            )


def not_overlapping(call, name, block, found):
    """Refuse results in blocks by elements that overlap, of programs which may run at the same time."""
    parallel = [d for d, s in enumerate(call.semantics) if s != "arbitrary"]
    sizes = [d.block_size if isinstance(d, Element) else 1 for d in block.dims]
    if not parallel or max(sizes, default=1) == 1 or any(isinstance(d, BoundedSlice) for d in block.dims):
        return
    ids = places(call.grid)
    if ids.shape[1] > MOST_PAIRS:
        return
    common = np.any(ids[parallel][:, :, None] != ids[parallel][:, None], axis=0)
    for first, size in zip(found, sizes, strict=True):
        first = np.broadcast_to(first, ids.shape[1:])
        common &= abs(first[:, None] - first[None]) < size
    wrong = np.argwhere(common)
    if len(wrong):
        one, other = wrong[0]
        raise ValueError(
            f"{name}: the blocks of programs {program(call, one)} and {program(call, other)} overlap, and "
            "they may run at one time\n  to fix: dimension_semantics 'arbitrary', or blocks that lie apart"
        )


def program(call, k):
    """The ids of program number ``k``, as a tuple."""
    return tuple(map(int, np.unravel_index(int(k), call.grid))) if call.grid else ()


def shown(block):
    """A block's shape as users write it."""
    return tuple(
        [d.block_size if isinstance(d, (Blocked, Element, BoundedSlice)) else None for d in block.dims]
    )


def revisited(call, block):
    """The dimensions of the grid along which a block stays the same, so that several programs get it.
    None where that cannot be told before the kernel runs.

    Args:
      call: a ``Call``.
      block: one of its blocks.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas.targets import revisited
      >>> f = pl.pallas_call(lambda x, out: None, rb.ShapeDtypeStruct((4,), "int32"), grid=(2, 3),
      ...                    out_specs=pl.BlockSpec((2,), lambda i, j: (i,)))
      >>> call = rb.make_jaxpr(f)(rnp.arange(4)).eqns[0].params["call"]
      >>> revisited(call, call.outs[0])
      {1}
    """
    if None in call.grid or math.prod(call.grid) > MOST:
        return None
    found = index_values(call.grid, block.index)
    if found is None:
        return None
    same = set()
    for d, n in enumerate(call.grid):
        if n < 2:
            continue
        values = [np.broadcast_to(v, (math.prod(call.grid),)).reshape(call.grid) for v in found]
        steps = [np.take(v, range(1, n), d) == np.take(v, range(n - 1), d) for v in values]
        if np.all(steps, axis=0).any() if steps else True:
            same.add(d)
    return same


__all__ = ["check", "revisited"]
