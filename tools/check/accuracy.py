"""How far elementwise functions are from the exact values, in units of the last place: a table for
docs/reliability.md.

    python tools/check/accuracy.py                                # Rabbet alone
    python tools/check/accuracy.py --beside /path/to/python       # jax beside it, as that interpreter has it

Exact values are mpmath's, to 60 digits, at random points: a third spread over all magnitudes, a third over
[-10, 10], a third near 0 and 1. Both libraries get the same points, in every dtype those that it can hold.
Points whose exact value is below the smallest normal number or above the largest are left out, because
XLA on a CPU takes the former for zeros.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DTYPES = ("bfloat16", "float16", "float32", "float64")
BITS = {
    "bfloat16": (8, -126, 127),
    "float16": (11, -14, 15),
    "float32": (24, -126, 127),
    "float64": (53, -1022, 1023),
}
# name: (mpmath's function as text, the interval of its arguments)
EVERYWHERE, POSITIVE, UNIT = (-np.inf, np.inf), (0, np.inf), (-1, 1)
UNARY = {
    "exp": ("mp.exp(x)", EVERYWHERE),
    "exp2": ("mp.mpf(2) ** x", EVERYWHERE),
    "expm1": ("mp.expm1(x)", EVERYWHERE),
    "log": ("mp.log(x)", POSITIVE),
    "log1p": ("mp.log1p(x)", (-1, np.inf)),
    "sin": ("mp.sin(x)", EVERYWHERE),
    "cos": ("mp.cos(x)", EVERYWHERE),
    "tan": ("mp.tan(x)", EVERYWHERE),
    "asin": ("mp.asin(x)", UNIT),
    "acos": ("mp.acos(x)", UNIT),
    "atan": ("mp.atan(x)", EVERYWHERE),
    "sinh": ("mp.sinh(x)", EVERYWHERE),
    "cosh": ("mp.cosh(x)", EVERYWHERE),
    "tanh": ("mp.tanh(x)", EVERYWHERE),
    "asinh": ("mp.asinh(x)", EVERYWHERE),
    "acosh": ("mp.acosh(x)", (1, np.inf)),
    "atanh": ("mp.atanh(x)", UNIT),
    "sqrt": ("mp.sqrt(x)", POSITIVE),
    "rsqrt": ("1 / mp.sqrt(x)", POSITIVE),
    "cbrt": ("mp.sign(x) * mp.cbrt(abs(x))", EVERYWHERE),
    "logistic": ("1 / (1 + mp.exp(-x))", EVERYWHERE),
    "erf": ("mp.erf(x)", EVERYWHERE),
    "erfc": ("mp.erfc(x)", EVERYWHERE),
    "erf_inv": ("mp.erfinv(x)", UNIT),
    "lgamma": ("mp.log(abs(mp.gamma(x)))", (-1e3, 1e4)),
    "digamma": ("mp.digamma(x)", (-1e3, np.inf)),
    "reciprocal": ("1 / x", EVERYWHERE),
}
BINARY = {
    "div": ("x / y", EVERYWHERE),
    "pow": ("mp.power(x, y)", POSITIVE),
    "atan2": ("mp.atan2(x, y)", EVERYWHERE),
    "rem": ("mp.sign(x) * mp.fmod(abs(x), abs(y))", (-1e4, 1e4)),
    "hypot": ("mp.sqrt(x * x + y * y)", EVERYWHERE),
}


def points(rng, interval, count, dtype):
    """Random arguments within an interval, which the dtype can hold, as float64."""
    third = count // 3
    reach = BITS[dtype][2] * 0.3
    wide = np.exp2(rng.uniform(-reach, reach, third * 4)) * rng.choice([-1, 1], third * 4)
    near = rng.choice([0.0, 1.0, -1.0], third * 4) + rng.normal(size=third * 4) * 10.0 ** rng.uniform(
        -4, 0, third * 4
    )
    found = []
    for some in (wide, rng.uniform(-10, 10, third * 4), near):
        some = rounded(some, dtype)
        some = some[(some > interval[0]) & (some < interval[1]) & np.isfinite(some)]
        found.append(some[:third])
    return np.concatenate(found)


def rounded(x, dtype):
    if dtype == "bfloat16":
        import ml_dtypes

        return x.astype(ml_dtypes.bfloat16).astype("float64")
    return x.astype(dtype).astype("float64")


def evaluate(library, path):
    """In a process of the library: the results at the points of a file, written beside it."""
    if library == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp
        from jax import jit, lax
    else:
        import rabbet.numpy as jnp
        from rabbet import jit, lax
    data, out = np.load(path), {}
    for key in data.files:
        name, dtype, part = key.split(" ")
        if part == "y":
            continue
        arguments = [
            jnp.asarray(data[f"{name} {dtype} {p}"], dtype=dtype)
            for p in "xy"
            if f"{name} {dtype} {p}" in data
        ]
        function = jnp.hypot if name == "hypot" else getattr(lax, name)
        try:
            out[f"{name} {dtype}"] = np.asarray(jit(function)(*arguments).astype("float64"))
        except Exception as error:
            print(f"{library}: {name} {dtype}: {error}", file=sys.stderr)
    np.savez(f"{path}.{library}.npz", **out)


def worst(mp, exact, got, dtype):
    """The largest error in units of the last place of the exact value, over the normal range."""
    digits, lowest, highest = BITS[dtype]
    most = 0.0
    for e, g in zip(exact, got, strict=True):
        if e is None:
            continue
        exponent = int(mp.floor(mp.log(abs(e), 2))) if e else lowest
        if e and not lowest <= exponent < highest:
            continue
        if not np.isfinite(g):
            return np.inf
        ulp = mp.mpf(2) ** (max(exponent, lowest) - digits + 1)
        most = max(most, float(abs(mp.mpf(float(g)) - e) / ulp))
    return most


def exact_values(mp, text, x, y):
    """mpmath's values; None where there is no real number."""
    code, out = compile(text, "exact", "eval"), []
    for i, a in enumerate(x):
        names = {"mp": mp, "x": mp.mpf(float(a)), "y": None if y is None else mp.mpf(float(y[i]))}
        try:
            value = eval(code, names)
            out.append(value if isinstance(value, mp.mpf) and mp.isfinite(value) else None)
        except (ValueError, ZeroDivisionError, OverflowError):
            out.append(None)
    return out


def table(count, beside):
    """The rows of the table: (name, {dtype: (ours, theirs or None)})."""
    from mpmath import mp

    mp.dps = 60
    rng = np.random.default_rng(0)
    functions = {**UNARY, **BINARY}
    arguments = {}
    for name, (_, interval) in functions.items():
        for dtype in DTYPES:
            x = points(rng, interval, count, dtype)
            arguments[f"{name} {dtype} x"] = x
            if name in BINARY:
                limits = (-20, 20) if name == "pow" else interval
                y = points(rng, limits, count, dtype)
                short = min(len(x), len(y))
                y = y[:short]
                arguments[f"{name} {dtype} x"], arguments[f"{name} {dtype} y"] = x[:short], rng.permutation(y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npz"
        np.savez(path, **arguments)
        results = {}
        for library, python in (("rabbet", sys.executable), ("jax", beside)):
            if python:
                subprocess.run([python, __file__, "--evaluate", library, str(path)], check=True)
                results[library] = dict(np.load(f"{path}.{library}.npz"))
    for name, (text, _) in functions.items():
        row = {}
        for dtype in DTYPES:
            x, y = arguments[f"{name} {dtype} x"], arguments.get(f"{name} {dtype} y")
            exact = exact_values(mp, text, x, y)
            row[dtype] = [
                worst(mp, exact, found[f"{name} {dtype}"], dtype) if f"{name} {dtype}" in found else None
                for found in results.values()
            ]
        yield name, row


def shown(value):
    if value is None:
        return "-"
    return "inf" if np.isinf(value) else f"{value:.2f}" if value < 10 else f"{value:.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--beside", help="a Python that has jax")
    parser.add_argument("--points", type=int, default=600, help="how many for each function and dtype")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--evaluate", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.evaluate:
        evaluate(*given.evaluate)
        return
    rows = list(table(given.points, given.beside))
    if given.json:
        print(json.dumps(dict(rows)))
        return
    print(f"| function | {' | '.join(DTYPES)} |\n|---{'|---' * len(DTYPES)}|")
    for name, row in rows:
        cells = [" / ".join(shown(v) for v in row[dtype]) for dtype in DTYPES]
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
