"""The operators of grids: programs of a grid one after the other, as an ordinary program.

This is what ``pallas_call`` decomposes into: how kernels are computed on the CPU, and what every
transformation sees.
"""

import math

import numpy as np
from rabbet import dtypes, lax
from rabbet.extend.passes import Var, evaluate
from rabbet.extend.transform import typeof

from rabbet_pallas.block_specs import Blocked, BoundedSlice


def run(call, operands):
    """The results of a call, by a loop for each dimension of its grid.

    A block is cut out in the outermost loop that decides which one it is. One of a result is carried through
    the loops within, and put back after them.
    """
    sizes, prefetch, ins = split(call, operands)
    ins = [padded(x, b, call.poison) for x, b in zip(ins, call.ins, strict=True)]
    outs = [padded(x, b, call.poison) for x, b in zip(results(call, operands), call.outs, strict=True)]
    scratch = [undefined(s.state, call.poison and s.kind is None) for s in call.scratch]
    grid = grid_of(call, sizes)
    levels = [[level(b, len(grid)) for b in blocks] for blocks in (call.ins, call.outs)]

    def descend(ids, blocks, outs, scratch):
        """The programs with these first ids."""
        d = len(ids)
        every = [*ids, *[zero() for _ in grid[d:]]]  # what is decided here does not ask for the others
        at = lambda b: starts(b, every, sizes, prefetch)
        blocks = [
            block_of(x, b, at(b)) if n == d else held
            for x, b, n, held in zip(ins, call.ins, levels[0], blocks, strict=True)
        ]
        places = [at(b) if n == d else None for b, n in zip(call.outs, levels[1], strict=True)]
        inner = [
            x if p is None else block_of(x, b, p) for x, b, p in zip(outs, call.outs, places, strict=True)
        ]
        if d == len(grid):
            after = evaluate(call.kernel, [*ids, *sizes, *prefetch, *blocks, *inner, *scratch])
            inner, scratch = list(after[: len(inner)]), list(after[len(inner) :])
        else:
            program = lambda i, outs, scratch: descend([*ids, i], blocks, outs, scratch)
            inner, scratch = each(grid[d], program, inner, scratch)
        made = zip(outs, inner, call.outs, places, strict=True)
        return [v if p is None else with_block(x, v, b, p) for x, v, b, p in made], scratch

    outs, _ = descend([], [None] * len(ins), outs, scratch)
    return [trimmed(x, b) for x, b in zip(outs, call.outs, strict=True)]


def level(block, rank):
    """How many ids decide which block it is: those up to the last one that its index map asks for."""
    return next((d + 1 for d in reversed(range(rank)) if depends_on(block.index, [d])), 0)


def each(n, program, outs, scratch):
    """``program(i, outs, scratch)`` for each index of a dimension of the grid."""
    if not isinstance(n, int):
        step = lambda i, carry: program(i, *carry)
        return lax.fori_loop(np.int32(0), n, step, (outs, scratch))
    if n < 2:
        return program(zero(), outs, scratch) if n else (outs, scratch)
    return lax.scan(lambda carry, i: (program(i, *carry), None), (outs, scratch), lax.iota("int32", n))[0]


def depends_on(program, places):
    """Whether outputs of a program depend on any of the inputs in these places."""
    touched = {program.invars[i] for i in places}
    for eqn in program.equations:
        if any(type(v) is Var and v in touched for v in eqn.inputs):
            touched.update(eqn.outputs)
    return any(type(v) is Var and v in touched for v in program.outvars)


def split(call, operands):
    """The operands by use: sizes of computed grid dimensions, prefetched arrays, arrays in blocks."""
    n, m = call.computed, call.computed + len(call.prefetch)
    return list(operands[:n]), list(operands[n:m]), list(operands[m:])


def grid_of(call, sizes):
    """The grid's sizes, ints and computed integers."""
    computed = iter(sizes)
    return [next(computed) if n is None else n for n in call.grid]


def zero():
    return lax.full((), 0, "int32")


def ids_of(k, grid):
    """The indices of the program number ``k``."""
    ids = []
    for d in reversed(range(len(grid))):
        n = grid[d]
        if isinstance(n, int) and n == 1:
            ids.append(zero())
        elif all(isinstance(m, int) and m == 1 for m in grid[:d]):
            ids.append(k)
        else:
            n = np.int32(n) if isinstance(n, int) else n
            ids.append(lax.rem(k, n))
            k = lax.div(k, n)
    return ids[::-1]


def results(call, operands):
    """What results hold before the first program."""
    shared = {out: arg for arg, out in call.aliases}
    ins = split(call, operands)[2]
    return [
        ins[shared[i]] if i in shared else undefined(b.array, call.poison) for i, b in enumerate(call.outs)
    ]


def undefined(aval, poison):
    """An array of which nothing is known: zeros; NaN, or the least integer, where that is to be found."""
    return lax.full(aval.shape, poison_of(aval) if poison else 0, aval.dtype)


def poison_of(aval):
    """What stands in places that nobody wrote: NaN, the least integer, False."""
    if aval.kind in "fc":
        return math.nan
    return int(dtypes.iinfo(aval.dtype).min) if aval.kind == "i" else 0


def padded(x, block, poison):
    """An array with the room behind and before it that whole blocks need."""
    padding = block.padding
    if not any(p for pair in padding for p in pair):
        return x
    aval = typeof(x)
    fill = lax.full((), poison_of(aval) if poison else 0, aval.dtype)
    return lax.pad(x, fill, [(low, high, 0) for low, high in padding])


def trimmed(x, block):
    """An array without the room for whole blocks."""
    shape = block.array.shape
    if typeof(x).shape == shape:
        return x
    low = [p[0] for p in block.padding]
    return lax.slice(x, low, [a + n for a, n in zip(low, shape, strict=True)])


def starts(block, ids, sizes, prefetch):
    """Where a program's block begins, in elements, and for a ``BoundedSlice`` how long it is (else None)."""
    found = iter(evaluate(block.index, [*ids, *sizes, *prefetch]))
    places, lengths = [], []
    for dim in block.dims:
        at = next(found)
        whole = isinstance(dim, Blocked) and dim.block_size != 1
        places.append(lax.mul(at, np.int32(dim.block_size)) if whole else at)
        lengths.append(next(found) if isinstance(dim, BoundedSlice) else None)
    return places, lengths


def is_whole(x, block):
    """Whether the only block is the array."""
    return typeof(x).shape == block.sizes and all(isinstance(d, Blocked) for d in block.dims)


def block_of(x, block, at):
    """The block of an array that begins at some place."""
    if is_whole(x, block):
        return x
    return lax.reshape(lax.dynamic_slice(x, at[0], block.sizes), block.state.shape)


def with_block(x, value, block, at):
    """The array with the block that begins at some place replaced."""
    if is_whole(x, block):
        return value
    places, lengths = at
    box = lax.reshape(value, block.sizes)
    for d, length in enumerate(lengths):
        if length is not None:
            inside = lax.lt(lax.broadcasted_iota("int32", block.sizes, d), length)
            box = lax.select(inside, box, lax.dynamic_slice(x, places, block.sizes))
    return lax.dynamic_update_slice(x, box, places)


__all__ = ["grid_of", "run", "split"]
