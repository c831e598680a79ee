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

from rabbet_kernels import attention_kernels
from rabbet_kernels.attention_kernels import Options

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
    if asked.bias is not None or asked.mask is not None:
        return False
    if not all(isinstance(n, int) and n > 0 for n in (*query.shape, *key.shape)):
        return False
    if value.shape[-1] != size or size > 256 or str(query.dtype) not in DTYPES:
        return False
    if not query.dtype == key.dtype == value.dtype or not isinstance(asked.scale, (int, float)):
        return False
    if platform == "tpu" and str(query.dtype) == "float16":
        return False
    most = MOST_BYTES.get(platform)
    return most is None or 2 * max(lengths) * max(size, 128) * query.itemsize <= most


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
        power(other)), asked.key_lengths is not None,
    )  # fmt: skip
    flat = lax.reshape(query, (batch, heads * group, time, size))
    flat, key, value = [widened(x, exact) for x in (flat, key, value)]
    out, logs = flash(options, flat, key, value, lengths)
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
def flash(options, query, key, value, lengths):
    """Attention of ``(batch, heads, time, size)`` to keys ``(batch, key heads, other time, size)``.

    Returns:
      the means, and the logarithms of the sums, ``(batch, heads, time)``, in float32.
    """
    return attention_kernels.forward(options, query, key, value, lengths)


@flash.def_rule("vjp")
def flash_vjp(options, query, key, value, lengths):
    out, logs = flash(options, query, key, value, lengths)

    def pull(cotangents):
        given, of_logs = cotangents
        given = lax.convert_element_type(given, query.dtype)
        delta = rnp.sum(given.astype("float32") * out.astype("float32"), -1)
        delta = delta if of_logs is None else delta - of_logs
        parts = attention_kernels.backward(options, query, key, value, lengths, given, logs, delta)
        return (*parts, None)

    return (out, logs), pull


@flash.def_rule("jvp")
def flash_jvp(options, primals, tangents):
    """In forward mode by plain operations: such programs are differentiated once more, or are small."""
    *arrays, lengths = primals
    plain = lambda q, k, v: attention_kernels.plain(options, q, k, v, lengths)
    return rb.jvp(plain, tuple(arrays), tuple(tangents[:3]))


FLASH = Attention("flash", ("cuda", "tpu"), supports, attend)

__all__ = ["FLASH", "attend", "flash", "supports"]
