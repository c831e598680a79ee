"""Numbers of 8 and of 4 bits beside float32: products, and the bytes of the weights.

    python benchmarks/few_bits.py

Times are in milliseconds, each the least of several, where the ways take turns, so that the ratios to float32
come from one run. On a CPU, which cannot calculate in these formats, they show what they cost; what they save
there is memory.
"""

import time

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import float8, int4

SIZES = ((1, 1024), (64, 1024))


def least(ways, repeats=10):
    """The least time of each call, by its name, after one that compiles."""
    times = {name: [] for name in ways}
    for call, args in ways.values():
        rb.block_until_ready(call(*args))
    for _ in range(repeats):
        for name, (call, args) in ways.items():
            start = time.perf_counter()
            rb.block_until_ready(call(*args))
            times[name].append(time.perf_counter() - start)
    return {name: 1e3 * min(each) for name, each in times.items()}


def ways(rows, size, rng):
    """Products of [rows, size] with weights [size, size], by name: function, arguments, bytes of weights."""
    x = rnp.asarray(rng.normal(size=(rows, size)).astype("float32"))
    w = rnp.asarray(rng.normal(size=(size, size)).astype("float32") / np.sqrt(size))
    gradient = lambda dot: rb.jit(rb.grad(lambda w, x: (dot(x, w) ** 2).mean()))
    stored = float8.quantize(w)
    by_column, by_block = int4.quantize(w), int4.quantize(w, block=32)
    byte = int4.pack(by_column.values).nbytes
    return {
        "float32": (rb.jit(rnp.matmul), (x, w), w.nbytes),
        "float8, weights stored": (rb.jit(lambda x, w: x @ float8.dequantize(w)), (x, stored), w.size),
        "float8.dot": (rb.jit(float8.dot), (x, w), w.nbytes),
        "int4 by columns": (rb.jit(int4.matmul), (x, by_column), byte + by_column.scale.nbytes),
        "int4 by blocks of 32": (rb.jit(int4.matmul), (x, by_block), byte + by_block.scale.nbytes),
        "float32, gradient": (gradient(rnp.matmul), (w, x), w.nbytes),
        "float8.dot, gradient": (gradient(float8.dot), (w, x), w.nbytes),
    }


def main():
    rng = np.random.default_rng(0)
    for rows, size in SIZES:
        found = ways(rows, size, rng)
        times = least({name: way[:2] for name, way in found.items()})
        print(f"[{rows}, {size}] @ [{size}, {size}]")
        for name, (_, _, weights) in found.items():
            base = "float32, gradient" if name.endswith("gradient") else "float32"
            print(
                f"  {name:24}{times[name]:8.2f} ms  ratio {times[name] / times[base]:6.2f}"
                f"   weights {weights / 2**10:7.0f} KiB"
            )


if __name__ == "__main__":
    main()
