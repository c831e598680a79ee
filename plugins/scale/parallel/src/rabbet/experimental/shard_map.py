"""``shard_map`` by its older arguments; ``rb.shard_map`` is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rabbet_parallel.shard_map_function import shard_map as _shard_map

from rabbet.extend.functions import public_module as _public_module


def shard_map(
    f: Callable[..., Any],
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: Any = frozenset(),
) -> Callable[..., Any]:
    """``rb.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)``.

    Args:
      f, mesh, in_specs, out_specs: as there.
      check_rep: ``check_vma`` there.
      auto: the axes that are left to the compiler; ``axis_names`` there are the others.

    Example:
      >>> from rabbet.experimental.shard_map import shard_map
      >>> from rabbet.sharding import PartitionSpec as P
      >>> mesh = rb.make_mesh((1,), ("x",))
      >>> shard_map(lambda x: lax.psum(x, "x"), mesh, P(), P())(np.float32(2))
      Array(2., dtype=float32)
    """
    names = frozenset(mesh.axis_names) - frozenset(auto)
    return _shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep, axis_names=names
    )


__all__ = ["shard_map"]

_public_module(globals())
