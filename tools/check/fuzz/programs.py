"""Whole programs, each with a number, as Python source.

The source defines ``program(rb, fnp, lax, np, row)``, which returns a function, and ``ARGUMENTS``. So the
same text runs under Rabbet and under jax.
"""

import random

import numpy as np

from fuzz.bodies import statements
from fuzz.scope import Program, Scope
from fuzz.values import Value

SHAPES = [(), (), (2,), (3,), (2, 3), (1,), (3, 2), (1, 2), (2, 2, 2), (0,), (0, 2)]


def source(number, rows=()):
    """Source text of program ``number``; the same for the same number.

    Args:
      rows: names of rows of the conformance table that take part. jax knows nothing of them.
    """
    rng = random.Random(number)
    wide = rng.random() < 0.5
    program = Program(rng, wide, rng.choice(["bfloat16", "float16"]), rows)
    scope = Scope(program, smooth=rng.random() < 0.6)
    arguments = []
    kinds = ["f", *rng.choices("fib", k=rng.randint(1, 2))]
    for i, kind in enumerate(kinds):
        shape = rng.choice(SHAPES)
        weak = shape == () and rng.random() < 0.3
        arguments.append(literal(rng, kind, shape, program.dtypes[kind], weak))
        scope.values.append(Value(f"x{i}", shape, kind, 4.0, 3 if kind == "f" else None))
        scope.write(f"x{i} = fnp.asarray(x{i})")
    statements(scope, rng.randint(2, 10))
    scope.returned(*scope.values[-rng.randint(2, 5) :])
    return "\n".join([
        f"WIDE, SMOOTH = {wide}, {scope.smooth}",
        f"ARGUMENTS = lambda np: ({', '.join(arguments)},)",
        "",
        "def program(rb, fnp, lax, np, row):",
        f"  def f({', '.join(f'x{i}' for i in range(len(kinds)))}):",
        *program.lines,
        "  return f",
        "",
    ])  # fmt: skip


def literal(rng, kind, shape, dtype, weak):
    """An argument as text: an array of given numbers, or a Python number, whose dtype is weak."""
    if 0 in shape:
        return f"np.zeros({shape}, '{dtype}')"
    drawn = np.random.RandomState(rng.randrange(100))
    if kind == "b":
        numbers = drawn.randint(0, 2, shape).astype(bool)
    elif kind == "i":
        numbers = drawn.randint(-4, 6, shape)
    else:
        numbers = drawn.randint(-32, 33, shape) / 8
    listed = np.asarray(numbers).tolist()
    return repr(listed) if weak else f"np.array({listed}, '{dtype}')"
