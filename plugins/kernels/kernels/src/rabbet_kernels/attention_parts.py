"""What the kernels of attention share: scores, which blocks are seen, blocks of operands, the call itself."""

from typing import Any, NamedTuple

import rabbet as rb
import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental.pallas import tpu, triton

from rabbet_kernels import attention_extras

# What stands for a product that does not count; finite, so that a row in which none counts has no NaN.
NEVER = -0.7 * 3.4028235e38


class Options(NamedTuple):
    """What is known of a call when it is traced: ``rows`` and ``columns`` are sizes of blocks."""

    scale: float
    is_causal: bool
    window: Any
    group: int
    rows: int
    columns: int
    bounded: bool
    in_turn: bool = False  # whether programs run one after the other, so that they can add up


def padded(x, size):
    """An array whose third dimension is whole blocks."""
    spare = -x.shape[2] % size
    return x if not spare else rnp.pad(x, [(0, 0), (0, 0), (0, spare), (0, 0)])


def product(x, y, left, right):
    """A product of matrices in float32, summed over a dimension of each."""
    return lax.dot_general(x, y, (((left,), (right,)), ((), ())), preferred_element_type="float32")


def scores(options, query, key, row, column, length, extra):
    """Scaled products of a block of queries and one of keys, which begin at ``row`` and ``column``, with the
    parts of extras that go with them.
    """
    found = product(query, key, 1, 1) * options.scale
    shape = found.shape
    columns = lax.broadcasted_iota("int32", shape, 1) + column
    counts = columns < length
    distance = columns - (lax.broadcasted_iota("int32", shape, 0) + row)
    if options.is_causal:
        counts = rnp.logical_and(counts, distance <= 0)
    if options.window is not None:
        before, after = options.window
        counts = rnp.logical_and(counts, rnp.logical_and(distance >= -before, distance <= after))
    found, counts = attention_extras.applied(found, counts, extra)
    return rnp.where(counts, found, NEVER)


def counted(found, above):
    """The exponentials of products less a column; zero where they do not count."""
    return rnp.where(found <= NEVER, 0.0, rnp.exp(found - above))


def columns_seen(options, row, length, blocks):
    """The first block of keys that a block of queries from ``row`` on sees, and the one behind the last."""
    first, last = 0, lax.div(length + (options.columns - 1), options.columns)
    if options.is_causal:
        last = lax.min(last, lax.div(row + (options.rows + options.columns - 1), options.columns))
    if options.window is not None:
        before, after = options.window
        first = lax.div(lax.max(row - before, 0), options.columns)
        if not options.is_causal:
            last = lax.min(last, lax.div(row + (options.rows + after + options.columns - 1), options.columns))
    return first, last


def rows_seen(options, column, blocks):
    """The blocks of queries that see some key of a block from ``column`` on."""
    first, last = 0, blocks
    if options.is_causal:
        first = lax.div(column, options.rows)
    if options.window is not None:
        before, after = options.window
        if not options.is_causal:
            first = lax.div(lax.max(column - after, 0), options.rows)
        last = lax.min(last, lax.div(column + (options.columns + before + options.rows - 1), options.rows))
    return first, last


def for_rows(options, extras):
    """Extras with whole blocks, and their blocks for programs that have a block of queries each."""
    extras = attention_extras.padded(extras, options.rows, options.columns)
    place = lambda b, h, i, _: (b, h, i, 0)
    return extras, {n: attention_extras.block(x, options.rows, None, place) for n, x in extras.items()}


def of_rows(options, size):
    """The block of queries of a program."""
    return pl.BlockSpec((None, None, options.rows, size), lambda b, h, i, _: (b, h, i, 0))


def of_head(x, group):
    """All of a head; ``group`` heads share one."""
    at = (lambda h: lax.div(h, group)) if group > 1 else (lambda h: h)
    return pl.BlockSpec((None, None, *x.shape[2:]), lambda b, h, i, _: (b, at(h), 0, 0))


def pallas(kernel, name, options, query, key, grid, params=None):
    """A call of a kernel: ``(blocks of operands, (shape, dtype, block) of results, lengths, *operands)``."""

    def call(ins, outs, lengths, *operands):
        return pl.pallas_call(
            kernel, [rb.ShapeDtypeStruct(shape, dtype) for shape, dtype, _ in outs], name=name,
            grid_spec=tpu.PrefetchScalarGridSpec(1, grid, ins, [block for _, _, block in outs]),
            cost_estimate=cost(options, query, key), compiler_params=params or stages(options, query),
        )(lengths, *operands)  # fmt: skip

    return call


def stages(options, query):
    """On a GPU large heads leave room for two rounds of a loop in shared memory."""
    if options.in_turn or query.shape[-1] <= 128:
        return None
    return triton.CompilerParams(num_stages=2)


def cost(options, query, key):
    """What the compiler is told: half of the products where only earlier keys are seen."""
    batch, heads, time, size = query.shape
    pairs = batch * heads * time * key.shape[2] // (2 if options.is_causal else 1)
    moved = (2 * query.size + 2 * key.size) * query.dtype.itemsize
    return pl.CostEstimate(flops=4 * pairs * size, transcendentals=pairs, bytes_accessed=moved)


__all__ = [
    "NEVER", "Options", "columns_seen", "counted", "for_rows", "of_head", "of_rows",
    "padded", "pallas", "product", "rows_seen", "scores",
]  # fmt: skip
