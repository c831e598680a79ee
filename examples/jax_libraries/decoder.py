"""The model of llama.py: a decoder with rotary positions, grouped queries, RMS norms and gated layers.

Parameters are a dict of arrays whose layers lie along the first axis, so that one program serves all layers
(``jax.lax.scan``). The design is that of LLaMA (Touvron et al., 2023), with the grouped queries of Ainslie
et al. (2023).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Sizes(NamedTuple):
    symbols: int = 128
    width: int = 96
    layers: int = 3
    heads: int = 6
    key_heads: int = 2  # each serves heads // key_heads queries
    hidden: int = 256
    longest: int = 256

    @property
    def head(self):
        return self.width // self.heads


def create(key, sizes):
    """Random parameters: matrices with a variance of one over their inputs, norms of one."""
    layers, width, hidden = sizes.layers, sizes.width, sizes.hidden
    keys = sizes.key_heads * sizes.head
    shapes = {
        "embedding": (sizes.symbols, width),
        "query": (layers, width, width),
        "key": (layers, width, keys),
        "value": (layers, width, keys),
        "mix": (layers, width, width),
        "gate": (layers, width, hidden),
        "up": (layers, width, hidden),
        "down": (layers, hidden, width),
        "output": (width, sizes.symbols),
    }
    draw = zip(jax.random.split(key, len(shapes)), shapes.items())
    params = {name: jax.random.normal(k, shape) * shape[-2] ** -0.5 for k, (name, shape) in draw}
    ones = {"norm_attention": (layers, width), "norm_hidden": (layers, width), "norm_output": (width,)}
    return params | {name: jnp.ones(shape) for name, shape in ones.items()}


def norm(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * weight


def rotated(x, places):
    """Each pair of x (batch, length, heads, size) turned by an angle that grows with its place."""
    half = x.shape[-1] // 2
    rates = 10000.0 ** (-jnp.arange(half) / half)
    angles = places[:, None, None] * rates
    a, b = x[..., :half], x[..., half:]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def attention(x, layer, places, cache, sizes):
    """Queries at ``places`` look at all keys of the cache that are not after them.

    The cache holds keys and values, each (batch, longest, key_heads, size); without one, as in the training,
    the keys are those of x.
    """
    batch, length, _ = x.shape
    query = rotated((x @ layer["query"]).reshape(batch, length, sizes.heads, sizes.head), places)
    key = rotated((x @ layer["key"]).reshape(batch, length, sizes.key_heads, sizes.head), places)
    value = (x @ layer["value"]).reshape(batch, length, sizes.key_heads, sizes.head)
    if cache is not None:
        key, value = (
            jax.lax.dynamic_update_slice_in_dim(old, new, places[0], axis=1)
            for old, new in zip(cache, (key, value))
        )
        cache = key, value
    visible = jnp.arange(key.shape[1]) <= places[:, None]
    mixed = jax.nn.dot_product_attention(query, key, value, mask=visible[None, None])
    return mixed.reshape(batch, length, -1) @ layer["mix"], cache


LAYERED = "norm_attention query key value mix norm_hidden gate up down".split()


def apply(params, symbols, sizes, start=0, cache=None):
    """Logits (batch, length, symbols) of what follows each symbol, and the cache with these symbols in it."""
    places = start + jnp.arange(symbols.shape[1])

    def block(x, given):
        layer, cache = given
        mixed, cache = attention(norm(x, layer["norm_attention"]), layer, places, cache, sizes)
        x = x + mixed
        h = norm(x, layer["norm_hidden"])
        return x + (jax.nn.silu(h @ layer["gate"]) * (h @ layer["up"])) @ layer["down"], cache

    layers = {name: params[name] for name in LAYERED}
    x, cache = jax.lax.scan(block, params["embedding"][symbols], (layers, cache))
    return norm(x, params["norm_output"]) @ params["output"], cache


def empty_cache(batch, sizes):
    """Keys and values of all layers, zeros."""
    shape = (sizes.layers, batch, sizes.longest, sizes.key_heads, sizes.head)
    return jnp.zeros(shape), jnp.zeros(shape)


def generate(params, start, count, sizes):
    """``count`` symbols that follow ``start`` (batch, length), the likeliest each time, by the cache.

    The start is read at once; then each step computes one symbol.
    """
    logits, cache = apply(params, start, sizes, 0, empty_cache(len(start), sizes))

    def following(carry, place):
        symbol, cache = carry
        logits, cache = apply(params, symbol[:, None], sizes, place, cache)
        return (logits[:, -1].argmax(-1), cache), symbol

    places = start.shape[1] + jnp.arange(count)
    _, symbols = jax.lax.scan(following, (logits[:, -1].argmax(-1), cache), places)
    return symbols.T


def generate_slowly(params, start, count, sizes):
    """The same without a cache: all symbols are computed again for each new one."""
    symbols = start
    for _ in range(count):
        logits, _ = apply(params, symbols, sizes)
        symbols = jnp.concatenate([symbols, logits[:, -1:].argmax(-1)], axis=1)
    return symbols[:, start.shape[1] :]
