"""The cotangent of a bias, which is as large as the bias itself: what it is repeated along is summed up."""

import math

import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental.pallas import triton

from rabbet_kernels.attention_parts import counted, pallas, product, scores

# What the dimensions of an array go by: batch, head, head of keys, block of rows, block of columns; "0" where
# there is one for all, None where a block has them all.
OF_ROWS, OF_COLUMNS = ("b", "h", "i", None), ("b", "k", "j", None)


def cotangent(options, query, key, value, lengths, extras, given, logs, delta, time):
    """The cotangent of ``extras["bias"]``, in its shape and dtype.

    Programs have a block of the bias each. What goes with it is taken one after the other: where programs
    run in turn, by more programs, else in a loop within.
    """
    bias = extras["bias"]
    whole = query.shape[0], query.shape[1], query.shape[2] // options.rows, key.shape[2] // options.columns
    counts = [n if size > 1 else 1 for n, size in zip(whole, bias.shape, strict=True)]
    shared = [n // own for n, own in zip(whole, counts, strict=True)]
    turns = math.prod(shared)
    kinds = [OF_ROWS, OF_COLUMNS, OF_COLUMNS, {n: of_extra(x) for n, x in extras.items()}, *[OF_ROWS] * 3]
    sizes = {"i": options.rows, "j": options.columns}

    def place(ids, turn):
        """Where a program is in its turn, by letters."""
        found = []
        for own, n in zip(ids[::-1], shared[::-1], strict=True):
            found.append(own if n == 1 else lax.rem(turn, n))
            turn = turn if n == 1 else lax.div(turn, n)
        b, h, i, j = found[::-1]
        return {"b": b, "h": h, "k": lax.div(h, options.group) if options.group > 1 else h, "i": i, "j": j}

    def spec(kind, x):
        """The block of a turn; all of the array where a program has all turns."""
        if not options.in_turn:
            return pl.BlockSpec()
        index = lambda *ids: chosen(kind, place(ids[:4], ids[4]))
        return pl.BlockSpec(tuple([block_size(k, n) for k, n in zip(kind, x.shape, strict=True)]), index)

    def block_size(kind, n):
        return n if kind is None else sizes.get(kind)

    def taken(kind, ref, at):
        if options.in_turn:
            return ref[...]
        where = []
        for k, first in zip(kind, chosen(kind, at), strict=True):
            size = sizes.get(k)
            first = first if size is None else pl.ds(pl.multiple_of(first * size, size), size)
            where.append(slice(None) if k is None else first)
        return ref[tuple(where)]

    def change(at, lengths, refs):
        """What one block of queries and keys adds."""
        query, key, value, extra, given, log, known = [
            {n: taken(kind[n], ref[n], at) for n in kind} if isinstance(kind, dict) else taken(kind, ref, at)
            for kind, ref in zip(kinds, refs, strict=True)
        ]
        row, column = at["i"] * options.rows, at["j"] * options.columns
        weights = counted(scores(options, query, key, row, column, lengths[at["b"]], extra), log)
        found = weights * (product(given, value, 1, 1) - known)
        if time % options.rows:  # rows that were added count for nothing
            rows = lax.broadcasted_iota("int32", found.shape, 0) + row
            found = rnp.where(rows < time, found, 0.0)
        for axis in (0, 1):
            if bias.shape[2 + axis] == 1:
                found = rnp.sum(found, axis, keepdims=True)
        return found

    def kernel(lengths, *refs):
        *refs, out = refs
        ids = [pl.program_id(d) for d in range(4)]
        if not options.in_turn:
            step = lambda turn, total: total + change(place(ids, turn), lengths, refs)
            out[...] = lax.fori_loop(0, turns, step, rnp.zeros(out.shape, "float32"))
            return
        turn = pl.program_id(4)

        @pl.when(turn == 0)
        def _():
            out[...] = rnp.zeros(out.shape, "float32")

        out[...] += change(place(ids, turn), lengths, refs)

    kind = of_extra(bias)
    arrays = query, key, value, extras, given, logs, delta
    specs = [
        {n: spec(k[n], x[n]) for n in k} if isinstance(k, dict) else spec(k, x)
        for k, x in zip(kinds, arrays, strict=True)
    ]
    index = lambda *ids: chosen(kind, place(ids[:4], 0))
    mine = pl.BlockSpec(tuple([block_size(k, n) for k, n in zip(kind, bias.shape, strict=True)]), index)
    grid = (*counts, turns) if options.in_turn else tuple(counts)
    # Its loop reads four blocks at once: of several rounds they have no room in a GPU's shared memory.
    params = None if options.in_turn else triton.CompilerParams(num_stages=1)
    call = pallas(kernel, "attention_bias", options, query, key, grid, params)
    (out,) = call(specs, [(bias.shape, "float32", mine)], lengths, *arrays)
    return out


def of_extra(x):
    """What the dimensions of a bias, a mask or numbers of segments go by."""
    letters = zip("bhij", x.shape, strict=True)
    return tuple([letter if n > 1 else "0" if letter in "bh" else None for letter, n in letters])


def chosen(kind, at):
    return tuple([at.get(k, 0) for k in kind])


__all__ = ["cotangent"]
