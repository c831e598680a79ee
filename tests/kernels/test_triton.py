"""Kernels written for Triton, evaluated in NumPy, against the CPU path."""

import calls
import numpy as np
import of_triton
import pytest
import rows

pytestmark = pytest.mark.needs("jit", "vmap", "nn", "numpy")
NAMES = [r.name for r in rows.ROWS.values() if "triton" in r.targets]


def evaluated(call, operands):
    """The results of a call by its text."""
    from rabbet_pallas_triton import kernel

    text, grid = kernel.module(call, "k")
    results = [(b.array.shape, b.array.dtype) for b in call.outs]
    first = len(call.prefetch)
    return of_triton.run(text, grid, operands, results, [(first + i, o) for i, o in call.aliases])


# Loops of many programs: these show what the others do.
SHOWN = (
    "attention bf16",
    "attention, causal, grouped heads: gradient",
    "attention, window, lengths left over",
    "attention, bias for keys, segments triton: gradient",
)


def marked(name):
    many = name.startswith("attention") and name not in SHOWN
    return pytest.param(name, marks=pytest.mark.exhaustive) if many else name


@pytest.mark.parametrize("name", [marked(name) for name in NAMES])
def test_what_is_written_is_right(name):
    row = rows.ROWS[name]
    wanted = np.asarray(row.function(*row.arguments))
    (found,) = calls.computed(row.function, row.arguments, evaluated)
    wide = lambda x: x.astype("float64") if x.dtype.kind not in "biu" else x
    np.testing.assert_allclose(wide(found), wide(wanted), rtol=row.tolerance, atol=row.tolerance)
