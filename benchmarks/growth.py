"""How cost grows: with a program's operations, with a model's layers, with an array's elements.

    python growth.py rabbet|jax ops [tiny]          # seconds of tracing and of tracing and lowering
    python growth.py rabbet|jax layers [tiny]       # gpt_step.py: trace, lower, compile, step
    python growth.py rabbet|jax|torch|numpy sizes [tiny]    # an elementwise chain and a sum

Figures are named `WHAT@N`, so that the report can draw them over N.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

import harness
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
OPS = {"full": (100, 300, 1000, 3000, 10_000, 30_000, 100_000), "tiny": (10,)}
LAYERS = {"full": (4, 12, 24, 48), "tiny": (1,)}
ELEMENTS = {"full": tuple(10**n for n in range(2, 9)), "tiny": (10,)}
# jax's compilation grows with the square of the depth: minutes at 48 layers.
DEEPEST = {"jax": 24}
TWICE = 30_000  # up to so many operations the better of two times is taken


def chain(fnp, x, length):
    """A third of `length` times three elementwise operations."""
    for _ in range(max(length // 3, 1)):
        x = fnp.tanh(x) * 1.01 + x
    return x


def ops(name, size):
    """Seconds of tracing programs of many operations, alone and with lowering."""
    fw = harness.framework(name)
    x, out = fw.numpy.zeros(8, "float32"), {}
    fw.jit(lambda a: chain(fw.numpy, a, 3)).trace(x).lower()
    for length in OPS[size]:
        best = [9e9, 9e9]
        for _ in range(2 if length <= TWICE else 1):
            # A new function each time, so that no cache of traces answers.
            start = time.perf_counter()
            traced = fw.jit(lambda a, n=length: chain(fw.numpy, a, n)).trace(x)
            middle = time.perf_counter()
            traced.lower()
            best = [min(best[0], middle - start), min(best[1], time.perf_counter() - start)]
        out[f"trace_s@{length}"], out[f"trace_lower_s@{length}"] = (round(b, 5) for b in best)
    return out


def layers(name, size):
    """The stages of gpt_step.py, each number of layers in a process of its own."""
    out, values = {}, {}
    for count in LAYERS[size]:
        if count > DEEPEST.get(name, count):
            continue
        command = [sys.executable, str(HERE / "gpt_step.py"), name, str(count), "6"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=dict(os.environ))
        result = json.loads(done.stdout.strip().splitlines()[-1])
        for figure in ("trace_s", "lower_s", "compile_s", "step_ms_min"):
            out[f"{figure}@{count}"] = result[figure]
        values[f"losses@{count}"] = result["losses"]
    return out | {"values": values}


def sizes(name, size, seconds=0.2):
    """Milliseconds of 12 elementwise operations and of a sum of squares over arrays of growing size."""
    fw = harness.framework(name)
    compiled = name in ("rabbet", "jax")
    np_ = fw.numpy if compiled else fw
    functions = {"chain": lambda a: chain(np_, a, 12), "sum": lambda a: (a * a).sum()}
    out, values = {}, {}
    for count in ELEMENTS[size]:
        array = np.random.default_rng(0).random(count, "f4")
        array = fw.from_numpy(array) if name == "torch" else np_.asarray(array)
        for what, fn in functions.items():
            call = fw.jit(fn) if compiled else fn
            wait = fw.block_until_ready if compiled else lambda a: a
            values[f"{what}@{count}"] = float(call(array).mean())
            out[f"{what}_ms@{count}"] = harness.timed(lambda f=call, a=array, w=wait: w(f(a)), seconds)[0]
    return out | {"values": values}


STUDIES = {"ops": ops, "layers": layers, "sizes": sizes}


def main():
    name, study = sys.argv[1:3]
    size = sys.argv[3] if len(sys.argv) > 3 else "full"
    print(json.dumps({"framework": name} | STUDIES[study](name, size)))


if __name__ == "__main__":
    main()
