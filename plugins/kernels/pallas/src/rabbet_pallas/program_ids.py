"""Where a kernel runs: the program's place in the grid, known while the kernel is traced."""

import contextlib
import threading

from rabbet.extend.functions import folded

_local = threading.local()


@contextlib.contextmanager
def within(ids, sizes):
    """What is traced in the ``with`` block runs as a program of a grid.

    Args:
      ids: the program's index along each dimension.
      sizes: the grid's size along each, an int or a computed integer.
    """
    stack = _local.__dict__.setdefault("grids", [])
    stack.append((tuple(ids), tuple(sizes), {}))
    try:
        yield
    finally:
        stack.pop()


def _grid(what, axis):
    stack = getattr(_local, "grids", None)
    if not stack:
        raise ValueError(
            f"{what}({axis}) outside a kernel\n  to fix: call it in a function that pallas_call runs"
        )
    ids, sizes, _ = stack[-1]
    if not -len(ids) <= axis < len(ids):
        raise ValueError(f"{what}({axis}): the grid has {len(ids)} dimensions")
    return ids, sizes


def kept(what):
    """What the program that is traced keeps for itself, by name.

    Args:
      what: the function that asks, for the message outside of kernels.
    """
    stack = getattr(_local, "grids", None)
    if not stack:
        raise ValueError(f"{what} outside a kernel\n  to fix: call it in a function that pallas_call runs")
    return stack[-1][2]


@folded
def program_id(axis):
    """The index of the program that runs, along a dimension of the grid; an i32 scalar.

    Raises:
      ValueError: outside a kernel, or the grid has no such dimension.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> def kernel(out):
      ...     out[0] = pl.program_id(0)
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((3,), "int32"), grid=3,
      ...                out_specs=pl.BlockSpec((1,), lambda i: (i,)))().tolist()
      [0, 1, 2]
    """
    return _grid("program_id", axis)[0][axis]


@folded
def num_programs(axis):
    """The size of a dimension of the grid: an int, or an i32 scalar where it is computed.

    Raises:
      ValueError: outside a kernel, or the grid has no such dimension.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> def kernel(out):
      ...     out[0] = pl.num_programs(0)
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((1,), "int32"), grid=3)().tolist()
      [3]
    """
    return _grid("num_programs", axis)[1][axis]


__all__ = ["kept", "num_programs", "program_id", "within"]
