"""Operations that programs are made of, under `jax` or `rabbet`: loops, linear algebra, sorting and so on.

    python operations.py jax
    python operations.py rabbet

Each is a compiled function on f32 arrays that fill a few megabytes. Prints one JSON line: milliseconds per
call (minimum of repeats), checksums of the results to compare, and the seconds that compiling all took.
"""

import importlib
import json
import sys
import time

import numpy as np

name = sys.argv[1]
fw = importlib.import_module(name)
fnp = importlib.import_module(name + ".numpy")
lax = importlib.import_module(name + ".lax")
linalg = importlib.import_module(name + ".lax.linalg")
rng = np.random.default_rng(0)


def normal(*shape):
    return fnp.asarray(rng.standard_normal(shape, dtype="f4"))


def lstm(params, xs):
    """The last hidden state of an LSTM over [time, batch, features]."""
    kernel, recurrent, bias = params

    def cell(state, x):
        c, h = state
        i, f, g, o = fnp.split(x @ kernel + h @ recurrent + bias, 4, axis=-1)
        c = fw.nn.sigmoid(f) * c + fw.nn.sigmoid(i) * fnp.tanh(g)
        return (c, fw.nn.sigmoid(o) * fnp.tanh(c)), None

    zero = fnp.zeros((xs.shape[1], recurrent.shape[0]), "float32")
    return lax.scan(cell, (zero, zero), xs)[0][1]


def convolution(image, kernel):
    return lax.conv_general_dilated(image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pooled(image):
    return lax.reduce_window(image, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def total(fn):
    """A function to differentiate: the sum of the squares of what `fn` returns."""
    return lambda *args: fnp.sum(fn(*args) ** 2)


many = normal(64, 64, 64)
definite = fnp.matmul(many, fnp.transpose(many, (0, 2, 1))) + 64 * fnp.eye(64, dtype="float32")
large = normal(512, 512)
large_definite = large @ large.T + 512 * fnp.eye(512, dtype="float32")
parameters = (normal(64, 512) * 0.1, normal(128, 512) * 0.1, fnp.zeros(512, "float32"))
sequence = normal(100, 32, 64)
images, kernel = normal(8, 32, 32, 32), normal(3, 3, 32, 32)
numbers, table = normal(1_000_000), normal(10_000, 64)
places = fnp.asarray(rng.integers(0, 10_000, 50_000, dtype="i4"))
waves = normal(64, 16384)


def solve(a, b):
    return linalg.triangular_solve(linalg.cholesky(a), b, left_side=True, lower=True)


CASES = {
    "lstm_scan_100": (lstm, parameters, sequence),
    "lstm_scan_100_grad": (fw.grad(total(lstm)), parameters, sequence),
    "cholesky_64x64x64": (linalg.cholesky, definite),
    "cholesky_512": (linalg.cholesky, large_definite),
    "solve_64x64x64": (solve, definite, many),
    "lu_64x64x64": (lambda a: linalg.lu(a)[0], many),
    "qr_64x64x64": (lambda a: fnp.abs(linalg.qr(a, full_matrices=False)[1]), many),
    "svd_64x64x64": (lambda a: linalg.svd(a, full_matrices=False)[1], many),
    "eigh_64x64x64": (lambda a: fw.lax.linalg.eigh(a)[1], definite),
    "conv_forward": (convolution, images, kernel),
    "conv_backward": (fw.grad(total(convolution), argnums=(0, 1)), images, kernel),
    "max_pool_backward": (fw.grad(total(pooled)), images),
    "sort_1e6": (lax.sort, numbers),
    "cumsum_1e6": (lambda x: lax.cumsum(x, 0), numbers),
    "cumsum_rows": (lambda x: lax.cumsum(x, 1), waves),
    "gather_rows": (lambda t, i: t[i], table, places),
    "scatter_add_rows": (lambda t, i: fnp.zeros_like(t).at[i].add(t[i]), table, places),
    "fft_64x16384": (lambda x: fnp.abs(lax.fft(lax.complex(x, x), "FFT", (16384,))), waves),
    "rfft_64x16384": (lambda x: fnp.abs(lax.fft(x, "RFFT", (16384,))), waves),
}


def first(tree):
    while isinstance(tree, (tuple, list)):
        tree = tree[0]
    return tree


def main():
    out, sums, compiling = {"framework": name}, {}, 0.0
    for case, (fn, *args) in CASES.items():
        start = time.perf_counter()
        run = fw.jit(fn).lower(*args).compile()
        compiling += time.perf_counter() - start
        result = fw.block_until_ready(run(*args))
        sums[case] = round(float(np.abs(np.asarray(first(result), "f8")).mean()), 4)
        best, until = 9e9, time.perf_counter() + 0.25
        for i in range(1000):
            start = time.perf_counter()
            fw.block_until_ready(run(*args))
            best = min(best, time.perf_counter() - start)
            if i >= 4 and time.perf_counter() > until:
                break
        out[f"{case}_ms"] = round(best * 1e3, 4)
    out["compile_all_s"] = round(compiling, 3)
    out["checksums"] = sums
    print(json.dumps(out))


if __name__ == "__main__":
    main()
