"""Kernels of the kind that NPBench and PyHPC collect, each compiled alone.

    python kernels.py rabbet|jax|torch|numpy [tiny]

- `jacobi_2d`: 20 sweeps of a five-point stencil; `go_fast`: Numba's first example; `softmax`: over attention
  scores; `azimint`: mean intensity over rings of radius, by a weighted histogram; `conv2d_bias`: a
  convolution without padding; `cavity`: a lid-driven cavity's pressure equation, 20 sweeps with its walls;
  `state`: an equation of state of sea water, a long polynomial and a square root.

Each is written for `np`, one namespace of array functions. What a framework does in a way of its own (loops,
writes, bin counts) stands in its `Own`.
"""

import json
import sys
import types

import harness
import numpy

SIZES = {
    "full": {"grid": 250, "sweeps": 20, "square": 1000, "scores": (16, 4, 128, 128), "points": 400_000},
    "tiny": {"grid": 6, "sweeps": 2, "square": 5, "scores": (1, 2, 3, 4), "points": 50},
}
BINS = 100


def own_rabbet(fw):
    """Loops, writes and the like for rabbet and jax."""
    lax, fnp = fw.lax, fw.numpy
    numbers = ("NHWC", "HWIO", "NHWC")
    return types.SimpleNamespace(
        np=fnp,
        array=fnp.asarray,
        repeat=lambda count, body, state: lax.fori_loop(0, count, lambda _, s: body(s), state),
        put=lambda a, index, value: a.at[index].set(value),
        count=lambda places, weights: fnp.zeros(BINS, "float32").at[places].add(weights),
        integer=lambda a: a.astype("int32"),
        convolve=lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=numbers),
    )


def loop(count, body, state):
    for _ in range(count):
        state = body(state)
    return state


def put(array, index, value):
    """A copy with `value` in it: these loops read the old array, as the compiled ones do."""
    array = array.clone() if hasattr(array, "clone") else array.copy()
    array[index] = value
    return array


def own_numpy(np):
    """The same for NumPy."""

    def convolve(x, kernel):
        windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[:2], axis=(1, 2))
        return np.tensordot(windows, kernel, axes=((4, 5, 3), (0, 1, 2)))

    return types.SimpleNamespace(
        np=np,
        array=np.asarray,
        repeat=loop,
        put=put,
        count=lambda places, weights: np.bincount(places, weights, BINS).astype("f4"),
        integer=lambda a: a.astype("int32"),
        convolve=convolve,
    )


def own_torch(torch):
    """The same for torch."""

    def convolve(x, kernel):
        out = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1))
        return out.permute(0, 2, 3, 1)

    return types.SimpleNamespace(
        np=torch,
        array=torch.from_numpy,
        repeat=loop,
        put=put,
        count=lambda places, weights: torch.zeros(BINS).index_add_(0, places, weights),
        integer=lambda a: a.long(),
        convolve=convolve,
    )


def kernels(own, sweeps):
    """The kernels by name, over the functions of `own`."""
    np, middle = own.np, (slice(1, -1), slice(1, -1))

    def around(a):
        return a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]

    def jacobi_2d(a):
        return own.repeat(sweeps, lambda a: own.put(a, middle, 0.2 * (a[1:-1, 1:-1] + around(a))), a)

    def go_fast(a):
        return a + np.tanh(np.diagonal(a)).sum()

    def softmax(x):
        e = np.exp(x - np.amax(x, -1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def azimint(intensity, radius):
        places = own.integer(radius * BINS)
        return own.count(places, intensity) / (own.count(places, np.ones_like(radius)) + 1e-6)

    def conv2d_bias(x, kernel, bias):
        return own.convolve(x, kernel) + bias

    def cavity(source):
        def sweep(p):
            p = own.put(p, middle, 0.25 * around(p) - source[1:-1, 1:-1])
            p = own.put(p, (slice(None), -1), p[:, -2])
            p = own.put(p, (0, slice(None)), p[1, :])
            p = own.put(p, (slice(None), 0), p[:, 1])
            return own.put(p, (-1, slice(None)), np.zeros_like(p[-1]))

        return own.repeat(sweeps, sweep, np.zeros_like(source))

    def state(salt, heat, pressure):
        """Density by a polynomial in salinity, temperature and its square root, with a bulk modulus."""
        root = np.sqrt(salt)
        fresh = 999.84 + heat * (6.794e-2 + heat * (-9.095e-3 + heat * (1.0017e-4 - 1.12e-6 * heat)))
        salted = salt * (0.8245 + heat * (-4.09e-3 + heat * (7.64e-5 - 8.25e-7 * heat)))
        salted = salted + salt * root * (-5.72e-3 + heat * (1.023e-4 - 1.65e-6 * heat))
        salted = salted + 4.83e-4 * salt * salt
        bulk = 19652.2 + heat * (148.42 + heat * (-2.327 + heat * (1.36e-2 - 5.16e-5 * heat)))
        bulk = bulk + salt * (54.67 - 0.603 * heat) + salt * root * (7.94e-2 + 1.65e-2 * heat)
        bulk = bulk + pressure * (3.24 + heat * (1.44e-3 + 1.16e-4 * heat) + 2.28e-3 * salt)
        return (fresh + salted) / (1 - pressure / bulk)

    return {
        "jacobi_2d": jacobi_2d,
        "go_fast": go_fast,
        "softmax": softmax,
        "azimint": azimint,
        "conv2d_bias": conv2d_bias,
        "cavity": cavity,
        "state": state,
    }


def arguments(grid, square, scores, points, sweeps):
    """The kernels' arguments as NumPy arrays, float32."""
    rng = numpy.random.default_rng(0)
    normal = lambda *shape: rng.standard_normal(shape, "f4")
    uniform = lambda *shape: rng.random(shape, "f4")
    return {
        "jacobi_2d": (uniform(grid, grid),),
        "go_fast": (uniform(square, square),),
        "softmax": (normal(*scores),),
        "azimint": (uniform(points), uniform(points)),
        "conv2d_bias": (normal(4, 32, 32, 3), normal(5, 5, 3, 8), normal(8)),
        "cavity": (0.01 * normal(grid, grid),),
        "state": tuple(scale * uniform(points) for scale in (35, 25, 500)),
    }


OWN = {"rabbet": own_rabbet, "jax": own_rabbet, "torch": own_torch, "numpy": own_numpy}


def cases(name, size):
    """`{kernel: (function, *arguments)}` for the framework `name`."""
    own = OWN[name](harness.framework(name))
    fns = kernels(own, size["sweeps"])
    return {kernel: (fns[kernel], *map(own.array, args)) for kernel, args in arguments(**size).items()}


def main():
    name = sys.argv[1]
    size = SIZES[sys.argv[2] if len(sys.argv) > 2 else "full"]
    print(json.dumps(harness.measure_each(name, cases(name, size))))


if __name__ == "__main__":
    main()
