"""Kernels of `experimental.pallas` on the CPU, beside the plain program; under jax by its interpreter.

    python pallas.py rabbet|jax [tiny]

- `matmul`: a product by blocks, summed up in scratch; `matmul_rows`: by blocks of rows, without scratch;
- `softmax` and `layer_norm`: over rows, by blocks of them;
- `flash`: causal attention by blocks of queries, whose loop over keys has a computed bound;
- `splash`: JAX's own kernel for attention with a mask table, from its file, where jax is installed.

`NAME_ms` is the kernel's least processor time, `NAME_plain_ms` that of the plain program, taken in turn, and
`NAME_to_plain` their ratio.
"""

import functools
import importlib
import importlib.util
import json
import sys
import time

import harness
import numpy as np

SIZES = {
    "full": {"n": 512, "rows": 2048, "columns": 1024, "heads": 8, "length": 1024, "size": 64, "block": 128},
    "tiny": {"n": 16, "rows": 8, "columns": 6, "heads": 2, "length": 32, "size": 4, "block": 8},
}


class Kernels:
    """The kernels, written once for both frameworks."""

    def __init__(self, fw):
        self.fw, self.np, self.lax = fw, fw.numpy, fw.lax
        self.pl = importlib.import_module(f"{fw.__name__}.experimental.pallas")
        self.tpu = importlib.import_module(f"{fw.__name__}.experimental.pallas.tpu")
        interpret = {} if fw.__name__ == "rabbet" else {"interpret": True}
        self.call = functools.partial(self.pl.pallas_call, **interpret)
        self.interpret = interpret

    def matmul(self, x, y, b):
        pl, np, n = self.pl, self.np, x.shape[0]

        def kernel(x, y, out, total):
            @pl.when(pl.program_id(2) == 0)
            def _():
                total[...] = np.zeros((b, b), "float32")

            total[...] += x[...] @ y[...]

            @pl.when(pl.program_id(2) == n // b - 1)
            def _():
                out[...] = total[...]

        semantics = self.tpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary"))
        return self.call(
            kernel,
            self.fw.ShapeDtypeStruct((n, n), "float32"),
            grid=(n // b,) * 3,
            in_specs=[
                pl.BlockSpec((b, b), lambda i, j, k: (i, k)),
                pl.BlockSpec((b, b), lambda i, j, k: (k, j)),
            ],
            out_specs=pl.BlockSpec((b, b), lambda i, j, k: (i, j)),
            scratch_shapes=[self.tpu.VMEM((b, b), "float32")],
            compiler_params=semantics,
        )(x, y)

    def by_rows(self, body, x, *shared, rows):
        """A kernel that does something with blocks of rows, which all get ``shared``."""

        def kernel(*refs):
            *ins, out = refs
            out[...] = body(*[ref[...] for ref in ins])

        block = self.pl.BlockSpec((rows, x.shape[1]), lambda i: (i, 0))
        whole = [self.pl.BlockSpec(s.shape, lambda i: (0, 0)) for s in shared]
        columns = shared[0].shape[1] if shared else x.shape[1]
        return self.call(
            kernel,
            self.fw.ShapeDtypeStruct((x.shape[0], columns), "float32"),
            grid=x.shape[0] // rows,
            in_specs=[block, *whole],
            out_specs=self.pl.BlockSpec((rows, columns), lambda i: (i, 0)),
        )(x, *shared)

    def softmax(self, x):
        e = self.np.exp(x - self.np.max(x, axis=1, keepdims=True))
        return e / self.np.sum(e, axis=1, keepdims=True)

    def layer_norm(self, x, scale, bias):
        d = x - self.np.mean(x, axis=1, keepdims=True)
        return d * self.lax.rsqrt(self.np.mean(d * d, axis=1, keepdims=True) + 1e-5) * scale + bias

    def flash(self, q, k, v, b):
        pl, np, lax = self.pl, self.np, self.lax
        heads, length, size = q.shape

        def kernel(q, k, v, out):
            first, queries = pl.program_id(1) * b, q[...] * size**-0.5

            def step(j, carry):
                largest, total, values = carry
                part = pl.ds(j * b, b)
                scores = queries @ k[part, :].T
                below = lax.broadcasted_iota("int32", (b, b), 0) + first
                beside = lax.broadcasted_iota("int32", (b, b), 1) + j * b
                scores = np.where(below >= beside, scores, -1e30)
                now = np.maximum(largest, np.max(scores, axis=1))
                weights, old = np.exp(scores - now[:, None]), np.exp(largest - now)
                sums = total * old + np.sum(weights, axis=1)
                return now, sums, values * old[:, None] + weights @ v[part, :]

            start = np.full((b,), -1e30, "float32"), np.zeros((b,), "float32"), np.zeros((b, size), "float32")
            _, total, values = lax.fori_loop(0, pl.program_id(1) + 1, step, start)
            out[...] = values / total[:, None]

        mine = pl.BlockSpec((None, b, size), lambda h, i: (h, i, 0))
        every = pl.BlockSpec((None, length, size), lambda h, i: (h, 0, 0))
        struct = self.fw.ShapeDtypeStruct(q.shape, "float32")
        return self.call(
            kernel, struct, grid=(heads, length // b), in_specs=[mine, every, every], out_specs=mine
        )(q, k, v)  # fmt: skip

    def attention(self, q, k, v):
        np, length = self.np, q.shape[1]
        scores = np.einsum("hqd,hkd->hqk", q, k) * q.shape[-1] ** -0.5
        scores = np.where(np.tril(np.ones((length, length), "bool")), scores, -1e30)
        e = np.exp(scores - np.max(scores, axis=2, keepdims=True))
        return (e / np.sum(e, axis=2, keepdims=True)) @ v

    def splash(self, heads, length, b):
        """JAX's kernel for causal attention."""
        if self.fw.__name__ == "rabbet":
            importlib.import_module("rabbet_jax").install()
        sa = importlib.import_module("jax.experimental.pallas.ops.tpu.splash_attention")
        mask = sa.MultiHeadMask([sa.CausalMask((length, length))] * heads)
        sizes = sa.BlockSizes(block_q=b, block_kv=b, block_kv_compute=b)
        return sa.make_splash_mha(mask, block_sizes=sizes, head_shards=1, q_seq_shards=1, **self.interpret)


def cases(fw, n, rows, columns, heads, length, size, block):
    """By name: the kernel, the plain program, and their arguments."""
    k, random = Kernels(fw), np.random.default_rng(0)
    draw = lambda *shape: fw.numpy.asarray(random.normal(size=shape).astype("float32"))
    product = lambda x, y: x @ y
    square, wide = (draw(n, n), draw(n, n)), draw(rows, columns)
    norm = (wide, draw(1, columns), draw(1, columns))
    qkv = [draw(heads, length, size) for _ in range(3)]
    few = min(16, rows)
    found = {
        "matmul": (lambda x, y: k.matmul(x, y, block), product, square),
        "matmul_rows": (lambda x, y: k.by_rows(product, x, y, rows=block), product, square),
        "softmax": (lambda x: k.by_rows(k.softmax, x, rows=few), k.softmax, (wide,)),
        "layer_norm": (lambda *xs: k.by_rows(k.layer_norm, *xs, rows=few), k.layer_norm, norm),
        "flash": (lambda q, key, v: k.flash(q, key, v, block), k.attention, qkv),
    }
    if importlib.util.find_spec("jax") is not None and block == 128:
        qkv = [draw(heads // 2, length, 128) for _ in range(3)]
        kernel = k.splash(heads // 2, length, block)
        scaled = lambda q, key, v: k.attention(q * 128**0.5, key, v)  # it does not scale
        found["splash"] = (lambda q, key, v: kernel(q, key, v), scaled, qkv)
    return found


def least(calls, seconds, together=0.03):
    """The least processor time of each call, in milliseconds; they take turns. Several calls are timed
    together, because clocks of processors may tick slowly.
    """
    start = time.perf_counter()
    for call in calls:
        call()
    count = max(1, int(together * len(calls) / (time.perf_counter() - start + 1e-6)))
    times, until = [[] for _ in calls], time.perf_counter() + seconds
    while len(times[0]) < 3 or time.perf_counter() < until:
        for call, found in zip(calls, times, strict=True):
            start = time.process_time()
            for _ in range(count):
                call()
            found.append(1e3 * (time.process_time() - start) / count)
    return [min(found) for found in times]


def run(fw, function, args):
    fw.block_until_ready(function(*args))


def measure(name, size, seconds=4.0):
    """The figures under a framework, as a dict."""
    fw = harness.framework(name)
    out = {"framework": name, "values": {}}
    for case, (kernel, plain, args) in cases(fw, **SIZES[size]).items():
        functions = [fw.jit(kernel), fw.jit(plain)]
        result = [np.asarray(f(*args)) for f in functions]
        np.testing.assert_allclose(result[0], result[1], rtol=2e-3, atol=2e-4)
        calls = [functools.partial(run, fw, f, args) for f in functions]
        ours, theirs = least(calls, seconds)
        out |= {f"{case}_ms": round(ours, 3), f"{case}_plain_ms": round(theirs, 3)}
        out[f"{case}_to_plain"] = round(ours / theirs, 3)
        out["values"][case] = float(np.abs(result[0]).mean())
    return out


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "full")))
