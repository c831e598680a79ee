"""What must hold of a primitive's rule ``partition``: cut over devices it computes what it does on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rabbet as rb
from rabbet.testing.laws import LawError


def check_partition(function: Callable[..., Any], arrays: Sequence[Any], *, tolerance: float = 1e-5) -> Any:
    """A function computes of arrays over several devices what it computes of them on one.

    Args:
      function: of arrays, such as a primitive with a rule ``partition``; it is compiled.
      arrays: arrays that lie over the devices of a mesh, of eight devices, say:
        ``rb.device_put(x, NamedSharding(mesh, P("x")))``.
      tolerance: relative.

    Returns:
      the results over the devices, whose ``sharding`` says how they lie.

    Raises:
      LawError: the results differ.

    Example:
      >>> from rabbet.testing.partitions import check_partition
      >>> check_partition(lax.sin, [rb.device_put(np.ones(4, np.float32))]).shape
      (4,)
    """
    wanted = function(*[np.asarray(x) for x in arrays])
    got = rb.jit(function)(*arrays)
    for i, (a, b) in enumerate(zip(rb.tree.leaves(got), rb.tree.leaves(wanted), strict=True)):
        if not np.allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance, equal_nan=True):
            laid = ", ".join([str(x.sharding) for x in arrays])
            raise LawError(
                f"result {i} of {getattr(function, '__name__', function)!r} of arrays that lie as {laid}: "
                f"the results differ from those on one device\n{np.asarray(a)}\nwanted\n{np.asarray(b)}"
            )
    return got


__all__ = ["check_partition"]
