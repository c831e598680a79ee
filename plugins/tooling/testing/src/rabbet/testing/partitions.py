"""What must hold of a primitive's rule ``partition``: cut over devices it computes what it does on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rabbet as rb
from rabbet.testing.laws import LawError


def check_partition(
    function: Callable[..., Any], arrays: Sequence[Any], specs: Sequence[tuple], mesh: Any, *,
    tolerance: float = 1e-5,
) -> Any:  # fmt: skip
    """A function computes over the devices of a mesh what it computes on one.

    Args:
      function: of arrays, such as a primitive with a rule ``partition``; it is compiled.
      arrays: NumPy arrays.
      specs: for each array the entries of a ``PartitionSpec``: how it lies.
      mesh: of eight devices, say: ``rb.make_mesh((4, 2), ("x", "y"))``.
      tolerance: relative.

    Returns:
      the results over the devices, whose ``sharding`` says how they lie.

    Raises:
      LawError: the results differ.

    Example:
      >>> import rabbet.numpy as rnp
      >>> from rabbet.testing.partitions import check_partition
      >>> mesh = rb.make_mesh((1,), ("x",), devices=rb.devices()[:1])
      >>> check_partition(lax.sin, [np.ones(4, np.float32)], [("x",)], mesh).shape
      (4,)
    """
    from rabbet.sharding import NamedSharding, PartitionSpec

    wanted = function(*arrays)
    spread = [
        rb.device_put(x, NamedSharding(mesh, PartitionSpec(*spec)))
        for x, spec in zip(arrays, specs, strict=True)
    ]
    got = rb.jit(function)(*spread)
    for i, (a, b) in enumerate(zip(rb.tree.leaves(got), rb.tree.leaves(wanted), strict=True)):
        if not np.allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance, equal_nan=True):
            raise LawError(
                f"result {i} of {getattr(function, '__name__', function)!r} over {mesh} with {list(specs)}: "
                f"the results differ from those on one device\n{np.asarray(a)}\nwanted\n{np.asarray(b)}"
            )
    return got


__all__ = ["check_partition"]
