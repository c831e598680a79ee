"""Temporary memory and processor time of compiled functions at a size where they matter.

Run with ``rabbet`` or ``jax``, the number of elements, how often to run each, and the names of rows (none:
all of them); prints a line of JSON for each: its name, the bytes of temporary memory, and the least processor
time of a run in microseconds, 0 where none was asked for.

    python tests/parity/memory.py rabbet 1000000 7 sort median
"""

import json
import math
import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if len(sys.argv) > 1 and sys.argv[1] == "rabbet":
    import rabbet_jax

    rabbet_jax.install()

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def rows(count):
    """Functions, each with the shape of its argument."""
    vector, side, edge = (count,), math.isqrt(count), round(count ** (1 / 3))
    matrix, cube = (side, side), (edge, edge, edge)
    table = {
        name: (getattr(jnp, name), vector)
        for name in (
            "argmax argmin argsort cumprod cumsum diff flip gradient max mean median nanargmax nancumsum "
            "nanmax nanmean nanmedian nanstd nanvar prod ptp sort std sum trapezoid unwrap var"
        ).split()
    }
    table |= {
        "fft": (jnp.fft.fft, vector),
        "norm": (jnp.linalg.norm, vector),
        "sort rows": (lambda x: jnp.sort(x, 1), matrix),
        "sort columns": (lambda x: jnp.sort(x, 0), matrix),
        "trapezoid of columns": (lambda x: jnp.trapezoid(x, axis=0), matrix),
        "trapezoid at": (lambda x: jnp.trapezoid(x, x * x), vector),
        "cumlogsumexp": (lax.cumlogsumexp, vector),
        "cummax": (lax.cummax, vector),
        "lexsort": (lambda x: jnp.lexsort((x, x)), vector),
        "unique": (lambda x: jnp.unique(x, size=100), vector),
        "quantile": (lambda x: jnp.quantile(x, 0.3), vector),
        "nonzero": (lambda x: jnp.nonzero(x, size=1000), vector),
        "histogram": (lambda x: jnp.histogram(x, bins=10)[0], vector),
        "searchsorted": (lambda x: jnp.searchsorted(jnp.arange(64.0), x), vector),
        "interp": (lambda x: jnp.interp(x, jnp.arange(64.0), jnp.arange(64.0)), vector),
        "convolve": (lambda x: jnp.convolve(x, jnp.ones(16), "same"), vector),
        "correlate": (lambda x: jnp.correlate(x, jnp.ones(16)), vector),
        "select": (lambda x: jnp.select([x > 0, x < -1], [x, x * 2], 0), vector),
        "isin": (lambda x: jnp.isin(x, jnp.arange(10.0)), vector),
        "roll": (lambda x: jnp.roll(x, 3), vector),
        "repeat": (lambda x: jnp.repeat(x, 3), vector),
        "polyval": (lambda x: jnp.polyval(jnp.ones(8), x), vector),
        "nearest of a book": (
            lambda x: jax.vmap(lambda v: jnp.argmin(jnp.abs(jnp.arange(16.0) - v)))(x),
            vector,
        ),
        "logsumexp": (jax.scipy.special.logsumexp, vector),
        "softmax": (jax.nn.softmax, matrix),
        "slope of log_softmax": (jax.grad(lambda x: jax.nn.log_softmax(x)[:, 0].sum()), matrix),
        "slope of max": (jax.grad(jnp.max), vector),
        "slope of std": (jax.grad(jnp.std), vector),
        "slope of sort": (jax.grad(lambda x: (jnp.sort(x) ** 2).sum()), vector),
        "slope of median": (jax.grad(jnp.median), vector),
        "slope of cumsum": (jax.grad(lambda x: (jnp.cumsum(x) ** 2).sum()), vector),
        "slope of trapezoid": (jax.grad(lambda x: jnp.trapezoid(x**2)), vector),
        "matmul": (lambda x: x @ x, matrix),
        "slope of matmul": (jax.grad(lambda x: jnp.tanh(x @ x).sum()), matrix),
        "einsum ijk,ijl->ikl": (lambda x: jnp.einsum("ijk,ijl->ikl", x, x), cube),
        "einsum ijk,ilk->ijl": (lambda x: jnp.einsum("ijk,ilk->ijl", x, x), cube),
        "rfft2": (jnp.fft.rfft2, matrix),
        "resize": (lambda x: jax.image.resize(x, (side // 2, side // 2), "bilinear"), matrix),
        "top_k": (lambda x: lax.top_k(x, 10), matrix),
        "tril": (jnp.tril, matrix),
        "pad": (lambda x: jnp.pad(x, 3, mode="reflect"), matrix),
        "scan": (lambda x: lax.scan(lambda c, a: (c + a, c), 0.0, x)[1], (count // 100,)),
        "associative_scan": (lambda x: lax.associative_scan(jnp.multiply, x), vector),
        "segment_sum": (lambda x: jax.ops.segment_sum(x, (x * 0).astype(int), 10), vector),
        "normal": (lambda x: jax.random.normal(jax.random.key(0), vector) + x, vector),
        "categorical": (lambda x: jax.random.categorical(jax.random.key(0), x), matrix),
        "gamma": (lambda x: jax.random.gamma(jax.random.key(0), x), (count // 1000,)),
    }
    return table | more_rows(vector, matrix, side)


def more_rows(vector, matrix, side):
    """Parts of models, slopes, and functions of arrays that others are made of."""
    heads = (1, side, 8, side // 8)
    images = (4, side // 16, side // 16, 64)
    indices = np.arange(0, vector[0], 7)
    total = lambda f: jax.grad(lambda x: (f(x) ** 2).sum())
    normed = lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    attention = lambda x: jax.nn.dot_product_attention(x, x, x, is_causal=True)
    numbers = ("NHWC", "HWIO", "NHWC")
    kernel = np.ones((3, 3, 64, 64), np.float32) / 576
    conv = lambda x: lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)
    pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    table = {name: (getattr(jnp, name), matrix) for name in "corrcoef cov nan_to_num nanmin rot90".split()}
    return table | {
        "attention": (attention, heads), "slope of attention": (total(attention), heads),
        "layer norm": (normed, matrix), "slope of layer norm": (total(normed), matrix),
        "conv": (conv, images), "slope of conv": (total(conv), images),
        "max pool": (pool, images), "slope of max pool": (total(pool), images),
        "slope of softmax": (total(jax.nn.softmax), matrix),
        "slope of logsumexp": (jax.grad(jax.scipy.special.logsumexp), vector),
        "gelu": (jax.nn.gelu, vector), "slope of gelu": (total(jax.nn.gelu), vector),
        "slope of silu": (total(jax.nn.silu), vector),
        "slope of relu": (total(jax.nn.relu), vector),
        "slope of prod": (jax.grad(jnp.prod), vector),
        "slope of cumprod": (total(jnp.cumprod), vector),
        "slope of cumlogsumexp": (total(lax.cumlogsumexp), vector),
        "slope of norm": (jax.grad(jnp.linalg.norm), vector),
        "slope of var": (jax.grad(jnp.var), vector),
        "slope of fft": (jax.grad(lambda x: jnp.abs(jnp.fft.fft(x)).sum()), vector),
        "slope of sort rows": (total(lambda x: jnp.sort(x, 1)), matrix),
        "slope of take": (total(lambda x: x[indices]), vector),
        "slope of interp": (total(lambda x: jnp.interp(x, jnp.arange(64.0), jnp.arange(64.0))), vector),
        "slope of scan": (total(lambda x: lax.scan(lambda c, a: (jnp.sin(c * a), c), 0.0, x)[1]), (10000,)),
        "take": (lambda x: x[indices], vector),
        "at add": (lambda x: x.at[indices].add(1.0), vector),
        "at set": (lambda x: x.at[::2].set(0.0), vector),
        "one_hot": (lambda x: jax.nn.one_hot(x[:1000].astype(int), 1000), vector),
        "outer": (lambda x: jnp.outer(x[:1000], x[:1000]), vector),
        "kron": (lambda x: jnp.kron(x[:32, :32], x[:32, :32]), matrix),
        "tile": (lambda x: jnp.tile(x, 3), vector),
        "bincount": (lambda x: jnp.bincount(x.astype(int), length=10), vector),
        "digitize": (lambda x: jnp.digitize(x, jnp.arange(10.0)), vector),
        "percentile of columns": (lambda x: jnp.percentile(x, 30.0, axis=0), matrix),
        "partition": (lambda x: jnp.partition(x, 10), vector),
        "histogram2d": (lambda x: jnp.histogram2d(x, x, bins=10)[0], vector),
        "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + 1e3 * jnp.eye(side)), matrix),
        "solve": (lambda x: jnp.linalg.solve(x, x), matrix),
        "inv": (jnp.linalg.inv, matrix), "det": (jnp.linalg.det, matrix),
        "slope of solve": (total(lambda x: jnp.linalg.solve(x, x[:, 0])), matrix),
        "log_softmax": (jax.nn.log_softmax, matrix),
        "standardize": (jax.nn.standardize, matrix),
        "permutation": (lambda x: jax.random.permutation(jax.random.key(0), x), vector),
        "uniform": (lambda x: jax.random.uniform(jax.random.key(0), vector) + x, vector),
        "bernoulli": (lambda x: jax.random.bernoulli(jax.random.key(0), x / 4), vector),
        "choice": (lambda x: jax.random.choice(jax.random.key(0), x, (1000,)), vector),
    }  # fmt: skip


def main(count, runs, names):
    for name, (function, shape) in rows(count).items():
        if names and name not in names:
            continue
        compiled = jax.jit(function).lower(jax.ShapeDtypeStruct(shape, "float32")).compile()
        taken = math.inf if runs else 0.0
        x = jnp.asarray(np.random.default_rng(0).uniform(0.5, 2, shape).astype("float32")) if runs else None
        for _ in range(runs):
            begun = time.process_time()
            jax.block_until_ready(compiled(x))
            taken = min(taken, (time.process_time() - begun) * 1e6)
        print(json.dumps([name, compiled.memory_analysis().temp_size_in_bytes, round(taken)]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
