"""What the programs here share: sizes, stages, timing, and the line of JSON that each prints.

A program is one file with three names:

- `SIZES`: `{"full": {...}, "tiny": {...}}`, keyword arguments of the builders ("tiny" is for tests);
- `BUILDERS`: `{"rabbet": build, "jax": build, "torch": build_torch, "numpy": build_numpy}`, as far as a
  version is worth having. `build(fw, **size)` is written once: only what `fw` is differs;
- a builder returns `(step, state)`, where `step(state)` gives `(state, value)`, `value` one number.

`python PROGRAM.py FRAMEWORK [SIZE]` prints the stages of the first call, the time of a step, and the values
of the first steps, by which the frameworks are checked against each other. The framework `torch_compile` is
torch with `torch.compile` around what the builder passes to `fw.compiled`.
"""

import importlib
import json
import statistics
import sys
import time

STEPS = 5  # values compared


def framework(name):
    """The framework's package with the modules that the programs use.

    `torch` and `torch_compile` are the same package; they differ in what `fw.compiled` does to a function.
    """
    if name == "numpy":
        return importlib.import_module("numpy")
    if name in ("torch", "torch_compile"):
        torch = importlib.import_module("torch")
        torch.compiled = torch.compile if name == "torch_compile" else lambda fn: fn
        return torch
    for part in ("numpy", "lax", "nn"):
        importlib.import_module(f"{name}.{part}")
    return importlib.import_module(name)


def stages(fw, fn, *args):
    """`fn` compiled for `args`, and the seconds of tracing, lowering and compiling it."""
    start = time.perf_counter()
    traced = fw.jit(fn).trace(*args)
    at_trace = time.perf_counter()
    lowered = traced.lower()
    at_lower = time.perf_counter()
    compiled = lowered.compile()
    return compiled, {
        "trace_s": round(at_trace - start, 4),
        "lower_s": round(at_lower - at_trace, 4),
        "compile_s": round(time.perf_counter() - at_lower, 4),
    }


def timed(call, seconds, least=3):
    """Milliseconds of `call()`, repeated for about `seconds`: `(minimum, median)`."""
    times, until = [], time.perf_counter() + seconds
    while len(times) < least or (time.perf_counter() < until and len(times) < 2000):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return round(min(times), 4), round(statistics.median(times), 4)


def measure(name, builders, size, seconds=0.8):
    """Run one program under the framework `name`; the figures and values as a dict."""
    started = time.perf_counter()
    fw = framework(name)
    out = {"framework": name, "import_s": round(time.perf_counter() - started, 4)}
    step, state = builders["torch" if name == "torch_compile" else name](fw, **size)
    if name in ("rabbet", "jax"):
        step, figures = stages(fw, step, state)
        out.update(figures)
        wait = fw.block_until_ready
    else:
        wait = lambda result: result
    values = []
    for i in range(STEPS):
        state, value = step(state)
        values.append(float(value))
        if i == 0:
            out["first_step_s"] = round(time.perf_counter() - started, 4)

    def once():
        nonlocal state
        state, _ = wait(step(state))

    out["step_ms_min"], out["step_ms_median"] = timed(once, seconds)
    out["values"] = {"steps": values}
    return out


def measure_each(name, cases, seconds=0.4):
    """Run several functions under the framework `name`: `cases` maps a name to `(function, *arguments)`.

    Gives `NAME_ms` for each, the seconds that compiling all of them took (rabbet and jax), and as values the
    mean magnitude of each result.
    """
    out, values, compiling = {"framework": name}, {}, 0.0
    for case, (fn, *args) in cases.items():
        wait = lambda result: result
        if name in ("rabbet", "jax"):
            fw = framework(name)
            fn, figures = stages(fw, fn, *args)
            compiling += sum(figures.values())
            wait = fw.block_until_ready
        result = fn(*args)
        values[case] = float(abs(result).mean())
        call = lambda fn=fn, args=args, wait=wait: wait(fn(*args))
        out[f"{case}_ms"] = timed(call, seconds)[0]
    if compiling:
        out["compile_all_s"] = round(compiling, 3)
    return out | {"values": values}


def main(builders, sizes):
    """The command line of a program: `PROGRAM.py FRAMEWORK [SIZE]`."""
    name = sys.argv[1] if len(sys.argv) > 1 else "rabbet"
    size = sys.argv[2] if len(sys.argv) > 2 else "full"
    print(json.dumps(measure(name, builders, sizes[size])))
