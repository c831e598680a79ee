"""Write plugins/functions/random/tests/known_answers.json: numbers that jax.random draws, for tests that
run without it.

Run it by hand, with jax installed, when a function is added: python tests/parity/record_random.py
"""

import json
import pathlib

import jax
import numpy as np

TABLE = pathlib.Path(__file__).resolve().parents[2] / "plugins/functions/random/tests/known_answers.json"

FLOATS = ("float32", "float64", "float16")
CONTINUOUS = ("uniform", "normal", "exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SHAPE = [2, 3]


def cases():
    """Triples (function, seed, keyword arguments that JSON can hold)."""
    for name in CONTINUOUS:
        for dtype in FLOATS:
            yield name, 0, {"shape": SHAPE, "dtype": dtype}
        yield name, 7, {"shape": [], "dtype": "float32"}
    yield "normal", 0, {"shape": SHAPE, "dtype": "complex64"}
    yield "normal", 0, {"shape": SHAPE, "dtype": "complex128"}
    yield "gumbel", 0, {"shape": SHAPE, "dtype": "float32", "mode": "high"}
    for dtype in FLOATS:
        yield "uniform", 1, {"shape": SHAPE, "dtype": dtype, "minval": -3.7, "maxval": 2.1}
        yield "truncated_normal", 1, {"lower": -1.5, "upper": 0.7, "shape": SHAPE, "dtype": dtype}
        yield "lognormal", 1, {"sigma": 0.7, "shape": SHAPE, "dtype": dtype}
        yield "pareto", 1, {"b": 2.5, "shape": SHAPE, "dtype": dtype}
        yield "rayleigh", 1, {"scale": 2.5, "shape": SHAPE, "dtype": dtype}
        yield "triangular", 1, {"left": 1.5, "mode": 2.75, "right": 5.0, "shape": SHAPE, "dtype": dtype}
        yield "weibull_min", 1, {"scale": 1.5, "concentration": 0.7, "shape": SHAPE, "dtype": dtype}
    yield from discrete()
    yield from of_arrays()
    yield from of_gammas()
    yield from of_counts_and_vectors()


def discrete():
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        yield "bits", 2**32 - 1, {"shape": SHAPE, "dtype": dtype}
    for dtype in INTEGERS:
        limits = np.iinfo(dtype)
        for low, high in (
            (3, 100),
            (7, 3),
            (limits.min, min(limits.max, 2**63 - 1)),
            (0, min(limits.max, 2**62)),
        ):
            yield "randint", 3, {"shape": SHAPE, "minval": int(low), "maxval": int(high), "dtype": dtype}
    for dtype in ("int8", "int16", "int32", "uint8", "uint16", "uint32"):
        limits = np.iinfo(dtype)
        whole = {"minval": int(limits.min), "maxval": int(limits.max) + 1}
        yield "randint", 3, {"shape": SHAPE, **whole, "dtype": dtype}
        yield (
            "randint",
            3,
            {"shape": [], "minval": int(limits.min) - 9, "maxval": int(limits.max) + 9, "dtype": dtype},
        )
    yield "bernoulli", 4, {"p": 0.3, "shape": [4, 5]}
    yield "bernoulli", 4, {"p": 0.3, "shape": [4, 5], "mode": "high"}
    yield "rademacher", 4, {"shape": [4, 5], "dtype": "int32"}
    yield "geometric", 4, {"p": 0.3, "shape": SHAPE, "dtype": "int32"}


def of_gammas():
    shapes = [[0.01, 0.3, 0.9], [1.0, 2.5, 70.0]]
    yield "gamma", 2, {"a": shapes}
    yield "loggamma", 2, {"a": shapes}
    yield "gamma", 2, {"a": 2.5, "shape": SHAPE, "dtype": "float64"}
    yield "gamma", 2, {"a": 2.5, "shape": SHAPE, "dtype": "float16"}
    yield "beta", 2, {"a": shapes, "b": [2.0, 0.5, 1.0]}
    yield "dirichlet", 2, {"alpha": [0.5, 1.0, 3.0], "shape": [2]}
    yield "chisquare", 2, {"df": 3.0, "shape": SHAPE}
    yield "f", 2, {"dfnum": 3.0, "dfden": [4.0, 5.0, 6.0], "shape": SHAPE}
    yield "t", 2, {"df": 3.0, "shape": SHAPE}
    yield "generalized_normal", 2, {"p": 3.0, "shape": SHAPE}
    yield "ball", 2, {"d": 3, "p": 1.5, "shape": [2]}


def of_counts_and_vectors():
    yield "poisson", 8, {"lam": [0.5, 9.0, 0.0, 10.0, 30.0, 200.0], "dtype": "int32"}
    yield "poisson", 8, {"lam": 4.0, "shape": SHAPE, "dtype": "int8"}
    yield "binomial", 8, {"n": [10.0, 10.0, 20.0, 100.0, 500.0], "p": [0.3, 0.7, 0.5, 0.3, 0.9]}
    yield "multinomial", 8, {"n": 60.0, "p": [0.2, 0.3, 0.5], "shape": [4]}
    yield "wald", 8, {"mean": 2.0, "shape": SHAPE}
    yield "double_sided_maxwell", 8, {"loc": 1.0, "scale": 2.0, "shape": SHAPE}
    mean, cov = [1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]
    yield "multivariate_normal", 8, {"mean": mean, "cov": cov, "shape": [3]}
    yield "orthogonal", 8, {"n": 3, "shape": [2]}
    yield "orthogonal", 8, {"n": 2, "m": 4, "shape": []}


def of_arrays():
    """Cases whose arguments are lists that stand for float32 (or, of integers, int32) arrays."""
    grid, weights = np.arange(12).reshape(3, 4).tolist(), [0.1, 0.2, 0.3, 0.4]
    for size in (0, 1, 5, 2000):
        yield "permutation", 5, {"x": size}
    for more in ({}, {"axis": 1}, {"independent": True}, {"axis": -1, "independent": True}):
        yield "permutation", 5, {"x": grid, **more}
    for replace in (True, False):
        yield "choice", 6, {"a": 9, "shape": SHAPE, "replace": replace}
        yield "choice", 6, {"a": grid, "shape": [2], "replace": replace, "axis": 1}
        yield "choice", 6, {"a": 4, "shape": [3], "replace": replace, "p": weights}
        yield "choice", 6, {"a": grid, "shape": [2], "replace": replace, "p": weights, "axis": 1}
        yield "categorical", 6, {"logits": [weights, weights[::-1]], "shape": [3, 2], "replace": replace}
        yield (
            "categorical",
            6,
            {"logits": [weights, weights[::-1]], "axis": 0, "shape": [2, 4], "replace": replace},
        )
    yield "split", -1, {"num": 3}
    yield "split", 2**31, {"num": [2, 2]}
    yield "fold_in", 2**32 + 5, {"data": 2**32 - 1}
    yield "fold_in", -5, {"data": 0}


def arguments(kwargs):
    """The keyword arguments as functions take them: shapes are tuples, other lists are arrays."""
    made = dict(kwargs)
    for name, value in kwargs.items():
        if name in ("shape", "num") and isinstance(value, list):
            made[name] = tuple(value)
        elif isinstance(value, list):
            array = np.asarray(value)
            made[name] = array.astype("int32" if array.dtype.kind == "i" else "float32")
    return made


def answer(name, seed, kwargs):
    """What jax draws, as a flat list: integers, or floats written exactly."""
    beyond = any(
        isinstance(kwargs.get(k), int) and not -(2**31) <= kwargs[k] < 2**31 for k in ("minval", "maxval")
    )
    with jax.enable_x64("64" in kwargs.get("dtype", "") or kwargs.get("dtype") == "complex128" or beyond):
        words = np.array([0, seed % 2**32], np.uint32)
        out = getattr(jax.random, name)(
            jax.random.wrap_key_data(jax.numpy.asarray(words)), **arguments(kwargs)
        )
        if jax.dtypes.issubdtype(out.dtype, jax.dtypes.prng_key):
            out = jax.random.key_data(out)
        out = np.asarray(out)
    flat = out.ravel()
    if out.dtype.kind == "c":
        flat = flat.view(f"f{out.dtype.itemsize // 2}")
    values = flat.tolist() if out.dtype.kind in "biu" else [float(v).hex() for v in flat]
    return {
        "function": name,
        "seed": seed,
        "arguments": kwargs,
        "shape": out.shape,
        "dtype": out.dtype.name,
        "values": values,
    }


def main():
    lines = [json.dumps(answer(*case)) for case in cases()]
    TABLE.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(lines)} answers of jax {jax.__version__} in {TABLE}")


if __name__ == "__main__":
    main()
