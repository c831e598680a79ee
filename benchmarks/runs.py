"""Run programs of the suite in processes that alternate between frameworks, and check that results agree.

A process that fails or takes too long is a result too, `{"failed": "why"}`: the run goes on without it.
`RABBET_PYTHON`, `JAX_PYTHON` and `TORCH_PYTHON` name other interpreters, if a framework lives in another
environment.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 300  # seconds that one process may take
RTOL, ATOL = 2e-3, 3e-4  # float32 sums in another order, values printed with 4 decimals


def interpreter(framework):
    """The python that runs `framework`, and whether the framework can be expected there."""
    package = framework.removesuffix("_compile")
    given = os.environ.get(f"{package.upper()}_PYTHON")
    return given or sys.executable, bool(given or importlib.util.find_spec(package))


def environment(cache, warm):
    """Environment variables that put every framework's caches into the folder `cache`.

    jax keeps compiled programs on disk only when told to, which is what a warm run wants. Bytecode of modules
    is written where it is missing, as it is when a package is installed. Neither framework looks for devices
    other than the CPU: a TPU's library comes with ours, and jax would pay for asking it.
    """
    env = dict(os.environ, RABBET_CACHE_DIR=cache, TF_CPP_MIN_LOG_LEVEL="3")
    env |= {"RABBET_PLATFORMS": "cpu", "JAX_PLATFORMS": "cpu"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    if warm:
        env |= {
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
    return env


def run(framework, command, cache, warm=False):
    """One process of `command`: the figures it printed, with `trace_lower_s`, or `{"failed": why}`."""
    python, _ = interpreter(framework)
    file, *rest = command
    try:
        done = subprocess.run(
            [python, str(HERE / file), *rest],
            capture_output=True,
            text=True,
            env=environment(cache, warm),
            timeout=LIMIT,
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            return {"failed": lines[-1][:200]}
        result = json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {LIMIT} s"}
    except (IndexError, ValueError):
        return {"failed": "printed no line of JSON"}
    if "trace_s" in result and "lower_s" in result:
        result["trace_lower_s"] = result["trace_s"] + result["lower_s"]
    return result


def alternate(program, pairs, frameworks, run=run):
    """The results of `program`, a list for each of `frameworks`, from `pairs` rounds over them.

    In a cold run every process has a cache folder of its own; in a warm one (`program.warm`) each framework
    has one, which an unmeasured process fills. A framework that failed is not tried again.
    """
    results = {name: [] for name in program.commands if name in frameworks}
    with contextlib.ExitStack() as stack:
        folder = lambda: stack.enter_context(tempfile.TemporaryDirectory())
        kept = {name: folder() for name in results}
        if program.warm:
            for name in results:
                run(name, program.commands[name], kept[name], True)
        for turn in range(pairs):
            for name, rows in results.items():
                over = turn and (name in program.once or "failed" in rows[-1])
                if not over:
                    cache = kept[name] if program.warm else folder()
                    rows.append(run(name, program.commands[name], cache, program.warm))
    return results


def values(result):
    """The numbers of a result by which frameworks are compared: `{name: [number, ...]}`."""
    found = result.get("values") or result.get("checksums") or {}
    found = dict(found) | ({"losses": result["losses"]} if "losses" in result else {})
    return {name: value if isinstance(value, list) else [value] for name, value in found.items()}


def close(ours, theirs):
    """Whether two lists of numbers agree; a NaN agrees with nothing."""
    return len(ours) == len(theirs) and all(abs(a - b) <= ATOL + RTOL * abs(b) for a, b in zip(ours, theirs))


def disagreements(title, results):
    """A line for each value that differs between a framework and the first that ran (jax, where it did)."""
    ran = {name: [r for r in rows if "failed" not in r] for name, rows in results.items()}
    order = sorted((name for name, rows in ran.items() if rows), key=lambda name: name != "jax")
    found = []
    for name in order:
        reference = values(ran[order[0]][0])
        for result in ran[name]:
            found += [
                f"{title}: {what}: {name} has {ours}, {order[0]} has {reference[what]}"
                for what, ours in values(result).items()
                if what in reference and not close(ours, reference[what])
            ]
    return list(dict.fromkeys(found))
