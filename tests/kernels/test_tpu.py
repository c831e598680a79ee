"""Kernels written for TPUs, evaluated in NumPy, against the CPU path."""

import calls
import numpy as np
import of_mosaic
import pytest
import rows

pytestmark = pytest.mark.needs("jit", "vmap", "nn", "numpy")
NAMES = [r.name for r in rows.ROWS.values() if "tpu" in r.targets]


def evaluated(call, operands):
    """The results of a call by its text."""
    from rabbet_pallas_tpu import kernel

    text = kernel.module(call, "k")
    results = [(b.array.shape, b.array.dtype) for b in call.outs]
    scratch = [(s.state.shape, None if s.kind else s.state.dtype) for s in call.scratch]
    sizes = iter([int(n) for n in operands[: call.computed]])
    grid, operands = [next(sizes) if n is None else n for n in call.grid], operands[call.computed :]
    first = len(call.prefetch)
    return of_mosaic.run(text, grid, operands[:first], operands[first:], results, scratch, call.aliases)


# Loops of many programs: these show what the others do.
SHOWN = (
    "attention bf16",
    "attention, causal, grouped heads: gradient",
    "attention, window, lengths left over",
    "attention, bias for keys, segments tpu: gradient",
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
