"""The operators of grids: programs of a grid one after the other, as an ordinary program.

This is what ``pallas_call`` decomposes into: how kernels are computed on the CPU, and what every
transformation sees.
"""

import math

import numpy as np
from rabbet import lax
from rabbet.extend.passes import Var, evaluate
from rabbet.extend.transform import typeof

from rabbet_pallas.specs import Blocked, BoundedSlice


def run(call, operands):
    """The results of a call, by a loop over its grid."""
    sizes, prefetch, ins = split(call, operands)
    ins = [padded(x, b, call.poison) for x, b in zip(ins, call.ins, strict=True)]
    outs = [padded(x, b, call.poison) for x, b in zip(results(call, operands), call.outs, strict=True)]
    scratch = [undefined(s.state, call.poison and s.kind is None) for s in call.scratch]
    grid = grid_of(call, sizes)
    n = len(grid) - innermost(call)

    def outer(ids, outs, scratch):
        """The programs that write the same blocks, which are read before the first and put back at last."""
        first = [*ids, *[zero() for _ in grid[n:]]]  # blocks that do not change do not ask for the others
        places = [starts(b, first, sizes, prefetch) for b in call.outs]
        before = [block_of(x, b, at) for x, b, at in zip(outs, call.outs, places, strict=True)]
        held = [
            None
            if depends_on(b.index, range(n, len(grid)))
            else block_of(x, b, starts(b, first, sizes, prefetch))
            for x, b in zip(ins, call.ins, strict=True)
        ]

        def program(inner_ids, written, scratch):
            every = [*ids, *inner_ids]
            blocks = [
                block_of(x, b, starts(b, every, sizes, prefetch)) if h is None else h
                for x, b, h in zip(ins, call.ins, held, strict=True)
            ]
            after = evaluate(call.kernel, [*every, *sizes, *prefetch, *blocks, *written, *scratch])
            return list(after[: len(written)]), list(after[len(written) :])

        after, scratch = every_program(program, grid[n:], before, scratch)
        each = zip(outs, after, call.outs, places, strict=True)
        return [with_block(x, v, b, at) for x, v, b, at in each], scratch

    outs, _ = every_program(outer, grid[:n], outs, scratch)
    return [trimmed(x, b) for x, b in zip(outs, call.outs, strict=True)]


def innermost(call):
    """How many of the last dimensions of the grid no block of a result asks for: programs along them write
    one after the other to the same blocks.
    """
    n = len(call.grid)
    while n and not any(depends_on(b.index, [n - 1]) for b in call.outs):
        n -= 1
    return len(call.grid) - n


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


def every_program(program, grid, outs, scratch):
    """``program(ids, outs, scratch)`` for each program of the grid, the last dimension first."""
    if all(isinstance(n, int) for n in grid):
        total = math.prod(grid)
        if total == 0:
            return outs, scratch
        if total == 1:
            return program([zero() for _ in grid], outs, scratch)

        def step(carry, k):
            return program(ids_of(k, grid), *carry), None

        return lax.scan(step, (outs, scratch), lax.iota("int32", total))[0]
    total = np.int32(1)
    for n in grid:
        total = lax.mul(total, n)
    return lax.fori_loop(
        np.int32(0), total, lambda k, carry: program(ids_of(k, grid), *carry), (outs, scratch)
    )


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
    return {"f": math.nan, "c": math.nan, "i": np.iinfo(aval.dtype).min if aval.kind == "i" else 0}.get(
        aval.kind, 0
    )


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
