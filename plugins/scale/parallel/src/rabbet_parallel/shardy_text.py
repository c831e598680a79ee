"""Meshes and layouts as Shardy's dialect writes them."""

from __future__ import annotations

import functools
from typing import Any

from rabbet.errors import ShardingError

from rabbet_parallel.partition_spec import UNCONSTRAINED, names_in


def spec_text(mesh: Any, entries: Any, further: Any = False) -> Any:
    """A mesh and how its axes cut dimensions, as Shardy writes them; ``further``: other axes may, too."""
    free = [further or e is UNCONSTRAINED for e in entries]
    dims = [_braces(() if e is UNCONSTRAINED else names_in(e), f) for e, f in zip(entries, free, strict=True)]
    return f"{mesh_text(mesh)}, [{', '.join(dims)}]"


def unreduced_text(mesh: Any, unreduced: Any) -> Any:
    """What the compiler is told of axes along which each device has an addend."""
    if not unreduced:
        return ""
    names = ", ".join([f'"{n}"' for n in mesh.axis_names if n in unreduced])
    return f", unreduced={{{names}}}"


def _braces(names: Any, further: Any) -> Any:
    return "{" + ", ".join([*[f'"{name}"' for name in names], *["?"] * further]) + "}"


@functools.lru_cache(maxsize=256)
def mesh_text(mesh: Any) -> Any:
    """A mesh as Shardy writes it in place, without devices: these are the program's own, in order."""
    return f"mesh<[{', '.join([quoted(n, s) for n, s in mesh.shape_tuple])}]>"


def quoted(name: Any, size: Any) -> Any:
    """An axis as Shardy writes it."""
    if not isinstance(name, str) or '"' in name or "\\" in name:
        raise ShardingError(f"the axes of a mesh on which programs run are named by strings, got {name!r}")
    return f'"{name}"={size}'


__all__ = ["mesh_text", "quoted", "spec_text", "unreduced_text"]
