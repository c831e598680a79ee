"""The kernels of attention: forward, and the derivatives for queries and for keys and values."""

import functools
from typing import Any, NamedTuple

import rabbet as rb
import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental.pallas import tpu

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


def padded(x, size):
    """An array whose third dimension is whole blocks."""
    spare = -x.shape[2] % size
    return x if not spare else rnp.pad(x, [(0, 0), (0, 0), (0, spare), (0, 0)])


def product(x, y, left, right):
    """A product of matrices in float32, summed over a dimension of each."""
    return lax.dot_general(x, y, (((left,), (right,)), ((), ())), preferred_element_type="float32")


def scores(options, query, key, row, column, length):
    """Scaled products of a block of queries and one of keys, which begin at ``row`` and ``column``."""
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


def forward(options, query, key, value, lengths):
    """The means, and the logarithms of the sums, ``(batch, heads, time)``."""
    time = query.shape[2]
    query, key, value = (
        padded(query, options.rows),
        padded(key, options.columns),
        padded(value, options.columns),
    )
    batch, heads, whole, size = query.shape
    blocks = key.shape[2] // options.columns

    def kernel(lengths, query, key, value, out, logs):
        length, row = lengths[pl.program_id(0)], pl.program_id(2) * options.rows
        part = query[...]

        def step(j, carry):
            total, greatest, mean = carry
            place = pl.ds(j * options.columns, options.columns)
            found = scores(options, part, key[place, :], row, j * options.columns, length)
            now = rnp.maximum(greatest, rnp.max(found, axis=1, keepdims=True))
            weights, factor = counted(found, now), rnp.exp(greatest - now)
            total = total * factor + rnp.sum(weights, axis=1, keepdims=True)
            mean = mean * factor + product(weights.astype(value.dtype), value[place, :], 1, 0)
            return total, now, mean

        column = lambda x: rnp.full((options.rows, 1), x, "float32")
        init = column(0.0), column(NEVER), rnp.zeros((options.rows, size), "float32")
        total, greatest, mean = lax.fori_loop(*columns_seen(options, row, length, blocks), step, init)
        total = rnp.where(total == 0, 1.0, total)  # of a row that sees no block
        out[...] = (mean / total).astype(out.dtype)
        logs[...] = greatest + rnp.log(total)

    call = pallas(kernel, "attention", options, query, key, grid=(batch, heads, whole // options.rows))
    out, logs = call(
        [of_rows(options, size), of_head(key, options.group), of_head(value, options.group)],
        [(query.shape, query.dtype, of_rows(options, size)), ((batch, heads, whole, 1), "float32",
        of_rows(options, 1))], lengths, query, key, value,
    )  # fmt: skip
    return out[:, :, :time], logs[:, :, :time, 0]


def backward(options, query, key, value, lengths, given, logs, delta):
    """The cotangents of queries, keys and values.

    Args:
      given: that of the means.
      logs, delta: the logarithms, and the sums of means times cotangents, ``(batch, heads, time)``.
    """
    time, other = query.shape[2], key.shape[2]
    query, given, logs, delta = [
        padded(x, options.rows) for x in (query, given, logs[..., None], delta[..., None])
    ]
    key, value = padded(key, options.columns), padded(value, options.columns)
    of_query = queries_cotangent(options, query, key, value, lengths, given, logs, delta)[:, :, :time]
    of_key, of_value = keys_cotangent(options, query, key, value, lengths, given, logs, delta, time)
    return of_query, of_key[:, :, :other], of_value[:, :, :other]


def queries_cotangent(options, query, key, value, lengths, given, logs, delta):
    batch, heads, whole, size = query.shape
    blocks = key.shape[2] // options.columns

    def kernel(lengths, query, key, value, given, logs, delta, out):
        length, row = lengths[pl.program_id(0)], pl.program_id(2) * options.rows
        part, cotangent, log, known = query[...], given[...], logs[...], delta[...]

        def step(j, total):
            place = pl.ds(j * options.columns, options.columns)
            keys = key[place, :]
            weights = counted(scores(options, part, keys, row, j * options.columns, length), log)
            change = weights * (product(cotangent, value[place, :], 1, 1) - known) * options.scale
            return total + product(change.astype(keys.dtype), keys, 1, 0)

        init = rnp.zeros((options.rows, size), "float32")
        total = lax.fori_loop(*columns_seen(options, row, length, blocks), step, init)
        out[...] = total.astype(out.dtype)

    call = pallas(
        kernel, "attention_queries", options, query, key, grid=(batch, heads, whole // options.rows)
    )
    rows, one = of_rows(options, size), of_rows(options, 1)
    head = of_head(key, options.group)
    specs = [rows, head, head, rows, one, one]
    (out,) = call(specs, [(query.shape, query.dtype, rows)], lengths, query, key, value, given, logs, delta)
    return out


def keys_cotangent(options, query, key, value, lengths, given, logs, delta, time):
    batch, heads, whole, size = query.shape
    blocks = whole // options.rows

    def kernel(lengths, query, key, value, given, logs, delta, of_key, of_value):
        length, column = lengths[pl.program_id(0)], pl.program_id(2) * options.columns
        keys, values = key[...], value[...]

        def step(i, carry):
            to_key, to_value = carry
            place = pl.ds(i * options.rows, options.rows)
            part, cotangent = query[place, :], given[place, :]
            found = scores(options, part, keys, i * options.rows, column, length)
            weights = counted(found, logs[place, :])
            if time != whole:  # rows that were added count for nothing
                row = lax.broadcasted_iota("int32", weights.shape, 0) + i * options.rows
                weights = rnp.where(row < time, weights, 0.0)
            to_value = to_value + product(weights.astype(cotangent.dtype), cotangent, 0, 0)
            change = weights * (product(cotangent, values, 1, 1) - delta[place, :]) * options.scale
            return to_key + product(change.astype(part.dtype), part, 0, 0), to_value

        init = rnp.zeros((options.columns, size), "float32")
        to_key, to_value = lax.fori_loop(*rows_seen(options, column, blocks), step, (init, init))
        of_key[...] = to_key.astype(of_key.dtype)
        of_value[...] = to_value.astype(of_value.dtype)

    grid = (batch, heads, key.shape[2] // options.columns)
    call = pallas(kernel, "attention_keys", options, query, key, grid=grid)
    block = lambda heads_of: pl.BlockSpec(
        (None, None, options.columns, size), lambda b, h, j, _: (b, heads_of(h), j, 0)
    )
    mine = block(lambda h: lax.div(h, options.group) if options.group > 1 else h)
    head, one = of_head(query, 1), of_head(logs, 1)
    shape, wide = (batch, heads, *key.shape[2:]), "float32" if options.group > 1 else key.dtype
    outs = [(shape, wide, block(lambda h: h))] * 2
    found = call([head, mine, mine, head, one, one], outs, lengths, query, key, value, given, logs, delta)
    if options.group == 1:
        return found
    shape = (batch, heads // options.group, options.group, *key.shape[2:])
    return [rnp.sum(lax.reshape(x, shape), 2).astype(key.dtype) for x in found]


def of_rows(options, size):
    """The block of queries of a program."""
    return pl.BlockSpec((None, None, options.rows, size), lambda b, h, i, _: (b, h, i, 0))


def of_head(x, group):
    """All of a head; ``group`` heads share one."""
    at = (lambda h: lax.div(h, group)) if group > 1 else (lambda h: h)
    return pl.BlockSpec((None, None, *x.shape[2:]), lambda b, h, i, _: (b, at(h), 0, 0))


def pallas(kernel, name, options, query, key, grid):
    """A call of a kernel: ``(blocks of operands, (shape, dtype, block) of results, lengths, *operands)``."""

    def call(ins, outs, lengths, *operands):
        return pl.pallas_call(
            kernel, [rb.ShapeDtypeStruct(shape, dtype) for shape, dtype, _ in outs], name=name,
            grid_spec=tpu.PrefetchScalarGridSpec(1, grid, ins, [block for _, _, block in outs]),
            cost_estimate=cost(options, query, key),
        )(lengths, *operands)  # fmt: skip

    return call


def cost(options, query, key):
    """What the compiler is told: half of the products where only earlier keys are seen."""
    batch, heads, time, size = query.shape
    pairs = batch * heads * time * key.shape[2] // (2 if options.is_causal else 1)
    moved = (2 * query.size + 2 * key.size) * query.dtype.itemsize
    return pl.CostEstimate(flops=4 * pairs * size, transcendentals=pairs, bytes_accessed=moved)


def plain(options, query, key, value, lengths):
    """The same by plain operations, for forward mode."""
    group = options.group
    spread = lambda x: x if group == 1 else rnp.repeat(x, group, axis=1)
    key, value = spread(key), spread(value)
    one = functools.partial(scores, options._replace(rows=0, columns=0))
    each = lambda q, k, length: one(q, k, 0, 0, length)
    found = rb.vmap(rb.vmap(each, (0, 0, None)))(query, key, lengths)
    greatest = lax.stop_gradient(rnp.max(found, -1, keepdims=True))
    weights = counted(found, greatest)
    total = rnp.sum(weights, -1, keepdims=True)
    total = rnp.where(total == 0, 1.0, total)
    mean = rnp.einsum("bhts,bhsd->bhtd", weights / total, value.astype("float32"))
    return mean.astype(query.dtype), (greatest + rnp.log(total))[..., 0]


__all__ = ["Options", "backward", "forward", "plain"]
