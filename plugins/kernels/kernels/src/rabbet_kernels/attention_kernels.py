"""The kernels of attention: forward, and the derivatives for queries and for keys and values."""

import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet import lax

from rabbet_kernels import attention_bias, attention_extras
from rabbet_kernels.attention_parts import (
    NEVER,
    columns_seen,
    counted,
    for_rows,
    of_head,
    of_rows,
    padded,
    pallas,
    product,
    rows_seen,
    scores,
)


def forward(options, query, key, value, lengths, extras):
    """The means, and the logarithms of the sums, ``(batch, heads, time)``."""
    time = query.shape[2]
    query, key, value = (
        padded(query, options.rows),
        padded(key, options.columns),
        padded(value, options.columns),
    )
    batch, heads, whole, size = query.shape
    blocks = key.shape[2] // options.columns
    extras, of_extras = for_rows(options, extras)

    def kernel(lengths, query, key, value, extras, out, logs):
        length, row = lengths[pl.program_id(0)], pl.program_id(2) * options.rows
        part = query[...]

        def step(j, carry):
            total, greatest, mean = carry
            place = pl.ds(j * options.columns, options.columns)
            extra = attention_extras.parts(extras, columns=(j * options.columns, options.columns))
            found = scores(options, part, key[place, :], row, j * options.columns, length, extra)
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
        [of_rows(options, size), of_head(key, options.group), of_head(value, options.group), of_extras],
        [(query.shape, query.dtype, of_rows(options, size)), ((batch, heads, whole, 1), "float32",
        of_rows(options, 1))], lengths, query, key, value, extras,
    )  # fmt: skip
    return out[:, :, :time], logs[:, :, :time, 0]


def backward(options, query, key, value, lengths, extras, given, logs, delta):
    """The cotangents of queries, keys and values, and of a bias, if there is one.

    Args:
      given: that of the means.
      logs, delta: the logarithms, and the sums of means times cotangents, ``(batch, heads, time)``.
    """
    time, other = query.shape[2], key.shape[2]
    query, given, logs, delta = [
        padded(x, options.rows) for x in (query, given, logs[..., None], delta[..., None])
    ]
    key, value = padded(key, options.columns), padded(value, options.columns)
    extras = attention_extras.padded(extras, options.rows, options.columns)
    arrays = query, key, value, lengths, extras, given, logs, delta
    of_query = queries_cotangent(options, *arrays)[:, :, :time]
    of_key, of_value = keys_cotangent(options, *arrays, time)
    found = [of_query, of_key[:, :, :other], of_value[:, :, :other]]
    of_extras = dict.fromkeys(extras)
    if "bias" in extras:
        of_extras["bias"] = of_bias(options, arrays, extras["bias"], time, other)
    return *found, of_extras


def of_bias(options, arrays, bias, time, other):
    """The cotangent of a bias as it was before blocks were made whole."""
    found = attention_bias.cotangent(options, *arrays, time)
    rows, columns = [n if size > 1 else 1 for n, size in zip((time, other), bias.shape[2:], strict=True)]
    return found[:, :, :rows, :columns].astype(bias.dtype)


def queries_cotangent(options, query, key, value, lengths, extras, given, logs, delta):
    batch, heads, whole, size = query.shape
    blocks = key.shape[2] // options.columns
    extras, of_extras = for_rows(options, extras)

    def kernel(lengths, query, key, value, extras, given, logs, delta, out):
        length, row = lengths[pl.program_id(0)], pl.program_id(2) * options.rows
        part, cotangent, log, known = query[...], given[...], logs[...], delta[...]

        def step(j, total):
            place = pl.ds(j * options.columns, options.columns)
            keys = key[place, :]
            extra = attention_extras.parts(extras, columns=(j * options.columns, options.columns))
            weights = counted(scores(options, part, keys, row, j * options.columns, length, extra), log)
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
    specs = [rows, head, head, of_extras, rows, one, one]
    outs = [(query.shape, query.dtype, rows)]
    (out,) = call(specs, outs, lengths, query, key, value, extras, given, logs, delta)
    return out


def keys_cotangent(options, query, key, value, lengths, extras, given, logs, delta, time):
    batch, heads, whole, size = query.shape
    blocks = whole // options.rows
    place = lambda b, h, j, _: (b, h, 0, j)
    of_extras = {n: attention_extras.block(x, None, options.columns, place) for n, x in extras.items()}

    def kernel(lengths, query, key, value, extras, given, logs, delta, of_key, of_value):
        length, column = lengths[pl.program_id(0)], pl.program_id(2) * options.columns
        keys, values = key[...], value[...]

        def step(i, carry):
            to_key, to_value = carry
            place = pl.ds(i * options.rows, options.rows)
            part, cotangent = query[place, :], given[place, :]
            extra = attention_extras.parts(extras, rows=(i * options.rows, options.rows))
            found = scores(options, part, keys, i * options.rows, column, length, extra)
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
    specs = [head, mine, mine, of_extras, head, one, one]
    found = call(specs, outs, lengths, query, key, value, extras, given, logs, delta)
    if options.group == 1:
        return found
    shape = (batch, heads // options.group, options.group, *key.shape[2:])
    return [rnp.sum(lax.reshape(x, shape), 2).astype(key.dtype) for x in found]


__all__ = ["backward", "forward"]
