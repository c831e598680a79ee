"""Attention by kernels, for the table of implementations of ``rabbet.nn.dot_product_attention``.

Queries are taken in blocks, each in a loop over the keys that it sees, with the softmax made on the way
(Dao and
others, "FlashAttention", 2022). For the derivatives the weights are computed again, from the logarithm of
their sums, which is all that is kept besides the result.
"""

import functools

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.nn.implementations import Attention

from rabbet_kernels import attention_extras, attention_kernels
from rabbet_kernels.attention_parts import NEVER, Options, counted

# Blocks of queries and keys, by platform, for heads of at most so many elements; half as many keys for
# float32.
BLOCKS = {
    "cuda": ((64, (128, 64)), (128, (64, 64)), (256, (64, 32))),
    "tpu": ((256, (128, 128)),),
}  # fmt: skip
DTYPES = ("float32", "bfloat16", "float16")
# A TPU holds the keys and values of a head in fast memory.
MOST_BYTES = {"tpu": 8 << 20}


def supports(platform, query, key, value, asked):
    """Whether the kernels can do what was asked for; all are types."""
    size = query.shape[-1]
    lengths = (query.shape[3], key.shape[2])
    if not all(isinstance(n, int) and n > 0 for n in (*query.shape, *key.shape)):
        return False
    if value.shape[-1] != size or size > 256 or str(query.dtype) not in DTYPES:
        return False
    if not query.dtype == key.dtype == value.dtype or not isinstance(asked.scale, (int, float)):
        return False
    if platform == "tpu" and str(query.dtype) == "float16":
        return False
    most = MOST_BYTES.get(platform)
    if most is None:
        return True
    return 2 * max(lengths) * max(size, 128) * query.itemsize + beside(asked) <= most


def beside(asked):
    """Bytes of blocks of bias and mask, of 128 rows or columns and all that goes with them."""
    whole = [x for x in (asked.bias, asked.mask) if x is not None]
    return sum([4 * 128 * max(x.shape[3:]) for x in whole])


def attend(platform, query, key, value, asked):
    """The means of the values, and if asked for the logarithms of the sums.

    Args:
      query: ``(batch, key heads, group, time, size)``.
      key, value: ``(batch, key heads, other time, size)``.
      asked: what else there is, as ``rabbet.nn`` has it.
    """
    batch, heads, group, time, size = query.shape
    other = key.shape[2]
    window = asked.window
    if window is not None and not isinstance(window, tuple):
        window = (window, window)
    lengths = rnp.full((batch,), other, "int32")
    if asked.key_lengths is not None:
        lengths = rnp.minimum(rnp.asarray(asked.key_lengths).astype("int32"), other)
    rows, columns = blocks(platform, query)
    exact = padded_size(platform, size)
    options = Options(
        float(asked.scale), asked.is_causal, window, group, min(rows, power(time)), min(columns,
        power(other)), asked.key_lengths is not None, platform != "cuda",
    )  # fmt: skip
    extras = attention_extras.prepared(platform, asked.bias, asked.mask, asked.segments, heads * group)
    flat = lax.reshape(query, (batch, heads * group, time, size))
    flat, key, value = [widened(x, exact) for x in (flat, key, value)]
    out, logs = flash(options, flat, key, value, lengths, extras)
    results = [lax.reshape(out[..., :size], query.shape)]
    if asked.residual:
        logs = lax.reshape(logs, query.shape[:-1])
        results.append(lax.convert_element_type(logs, query.dtype))
    return results


def blocks(platform, query):
    size = query.shape[-1]
    rows, columns = next(b for most, b in BLOCKS[platform] if size <= most)
    return (
        (rows // 2 if size > 64 else rows, columns // 2)
        if platform == "cuda" and query.dtype.itemsize == 4
        else (rows, columns)
    )


def power(n):
    """The least power of two that is no less than a length, and at least 16."""
    return max(16, 1 << (n - 1).bit_length())


def padded_size(platform, size):
    """How many elements a head has in the kernel: on GPUs a power of two."""
    return power(size) if platform == "cuda" else size


def widened(x, size):
    """An array with zeros behind the elements of each head."""
    spare = size - x.shape[-1]
    return x if not spare else rnp.pad(x, [(0, 0)] * 3 + [(0, spare)])


@functools.partial(rb.custom_rules, nondiff_argnums=(0,))
def flash(options, query, key, value, lengths, extras):
    """Attention of ``(batch, heads, time, size)`` to keys ``(batch, key heads, other time, size)``.

    ``extras`` are those of `attention_extras`, by name.

    Returns:
      the means, and the logarithms of the sums, ``(batch, heads, time)``, in float32.
    """
    return attention_kernels.forward(options, query, key, value, lengths, extras)


@flash.def_rule("vjp")
def flash_vjp(options, query, key, value, lengths, extras):
    out, logs = flash(options, query, key, value, lengths, extras)

    def pull(cotangents):
        given, of_logs = cotangents
        given = lax.convert_element_type(given, query.dtype)
        delta = rnp.sum(given.astype("float32") * out.astype("float32"), -1)
        delta = delta if of_logs is None else delta - of_logs
        arrays = query, key, value, lengths, extras, given, logs, delta
        *parts, of_extras = attention_kernels.backward(options, *arrays)
        return (*parts, None, of_extras)

    return (out, logs), pull


@flash.def_rule("jvp")
def flash_jvp(options, primals, tangents):
    """In forward mode by plain operations: such programs are differentiated once more, or are small."""
    *arrays, lengths, extras = primals
    *directions, _, of_extras = tangents
    known = {n: x for n, x in extras.items() if n != "bias"}
    bias, of_bias = [{n: x for n, x in d.items() if n == "bias"} for d in (extras, of_extras or {})]
    if bias and of_bias.get("bias") is None:
        known, bias, of_bias = extras, {}, {}
    f = lambda q, k, v, b: plain(options, q, k, v, lengths, known | b)
    return rb.jvp(f, (*arrays, bias), (*directions, of_bias))


def plain(options, query, key, value, lengths, extras):
    """The same by plain operations, for forward mode."""
    group, other = options.group, key.shape[2]
    spread = lambda x: x if group == 1 else rnp.repeat(x, group, axis=1)
    found = rnp.einsum("bhtd,bhsd->bhts", query, spread(key), preferred_element_type="float32")
    found = found * options.scale
    distance = rnp.arange(other)[None] - rnp.arange(query.shape[2])[:, None]
    counts = (rnp.arange(other) < lengths[:, None])[:, None, None]
    if options.is_causal:
        counts = rnp.logical_and(counts, distance <= 0)
    if options.window is not None:
        before, after = options.window
        counts = rnp.logical_and(counts, rnp.logical_and(distance >= -before, distance <= after))
    found, counts = attention_extras.applied(found, counts, extras)
    found = rnp.where(counts, found, NEVER)
    greatest = lax.stop_gradient(rnp.max(found, -1, keepdims=True))
    weights = counted(found, greatest)
    total = rnp.sum(weights, -1, keepdims=True)
    total = rnp.where(total == 0, 1.0, total)
    mean = rnp.einsum("bhts,bhsd->bhtd", weights / total, spread(value).astype("float32"))
    return mean.astype(query.dtype), (greatest + rnp.log(total))[..., 0]


FLASH = Attention("flash", ("cuda", "tpu"), supports, attend)

__all__ = ["FLASH", "attend", "flash", "plain", "supports"]
