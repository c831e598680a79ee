"""Runs the small programs of files of ``system/``, and prints as JSON what each gave: by its first line.

    python tests/parity/system_run.py EVERY FILES                 # in jax: one of EVERY programs
    python -m rabbet_jax tests/parity/system_run.py EVERY FILES   # in Rabbet

A program ends in an expression, whose value is told: of an array the dtype, the shape, whether the type is
weak, how it lies over devices, and the numbers; of an error the classes of Python's that it is.
"""

import ast
import contextlib
import io
import json
import operator
import os
import re
import sys
import warnings
from functools import partial

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import jax.tree_util as tu
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P


def mk(shape=(4, 2), names=("x", "y"), t="Auto"):
    """A mesh of which all axes are of one type."""
    return jax.make_mesh(shape, names[: len(shape)], axis_types=(getattr(AxisType, t),) * len(shape))


def explicit():
    """Arrays over a mesh of 4 x 2 devices with axes of type Explicit, which is set: cut along both, along the
    first dimension, a vector, whole; matrices, vectors, positions, images, a kernel.
    """
    jax.set_mesh(mk(t="Explicit"))
    put = lambda x, *spec: jax.device_put(np.asarray(x, "f"), P(*spec))
    rows, matrices = np.arange(32.0).reshape(8, 4), np.eye(4) * 5 + np.arange(128.0).reshape(8, 4, 4) / 100
    images = put(np.arange(256.0).reshape(8, 4, 4, 2) / 100, "x")
    return (
        put(rows + 1, "x", "y"), put(rows + 1, "x"), put(np.arange(8), "x"), put(rows[:4]),
        put(matrices, "x"), put(rows, "x"), jax.device_put(np.array([3, 1, 0, 2]), P()), images,
        put(np.ones((3, 3, 2, 4)) / 9),
    )  # fmt: skip


CLASSES = (AbstractMesh, AxisType, Mesh, NamedSharding, SingleDeviceSharding, partial)
MODULES = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, "operator": operator, "os": os, "tu": tu}
NAMES = {**{each.__name__: each for each in CLASSES}, **MODULES, "P": P, "mk": mk, "explicit": explicit}


def plain(text):
    return re.sub(r"rabbet_jax|rabbet\b", "jax", re.sub(r"0x[0-9a-f]+", "0x", text))


def told(value):
    if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            return f"keys {value.shape} {np.asarray(jax.random.key_data(value)).tolist()}"
        numbers = np.asarray(value)
        wide = numbers.astype(complex if np.iscomplexobj(numbers) else float)
        shown = np.array2string(wide, precision=4, suppress_small=True, threshold=40).replace("\n", "")
        return f"{value.dtype} {value.shape} weak={value.weak_type} {plain(str(value.sharding))} {shown}"
    if isinstance(value, np.ndarray):
        return f"np {value.dtype} {value.shape} {value.tolist()}"
    if type(value) in (tuple, list):
        return f"{type(value).__name__}[{', '.join(map(told, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join([f'{k}: {told(v)}' for k, v in value.items()])}}}"
    return plain(repr(value))


def run(source):
    names, module = dict(NAMES), ast.parse(source)
    last = module.body.pop() if isinstance(module.body[-1], ast.Expr) else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(module, "<program>", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "<program>", "eval"), names) if last else None
            jax.effects_barrier()
            result = told(value)
        except Exception as error:
            kinds = [c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"]
            result = ["error", *[k for k in kinds if k not in ("object", "BaseException", "Exception")]]
    if not jax.sharding.get_abstract_mesh().empty:
        jax.set_mesh(None) if hasattr(jax, "set_mesh") else None
    return result if isinstance(result, list) else f"{result} {plain(out.getvalue())}"


if __name__ == "__main__":
    found = {}
    for path in sys.argv[2:]:
        with open(path) as file:
            programs = file.read().strip("\n").split("\n---\n")[:: int(sys.argv[1])]
        found.update({program.split("\n")[0]: run(program) for program in programs})
    print(json.dumps(found))
