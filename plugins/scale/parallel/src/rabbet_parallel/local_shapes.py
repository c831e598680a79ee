"""Specs and local shapes: what one device has of an array that ``shard_map`` takes apart."""

from __future__ import annotations

import math
from typing import Any

from rabbet.errors import ShardingError
from rabbet_collectives import varying
from rabbet_collectives.varying import with_axes

from rabbet_parallel.explicit_sharding import entries_of, explicit_entries, mesh_of, with_entries
from rabbet_parallel.partition_spec import PartitionSpec, axes_of, names_in
from rabbet_parallel.shardy_text import mesh_text


def entries(spec: Any, ndim: Any) -> Any:
    """The spec with an entry for each dimension."""
    return (*spec, *[None] * (ndim - len(spec)))


def counts(mesh: Any, spec: Any, ndim: Any) -> Any:
    """Into how many parts each dimension is cut."""
    return [math.prod([mesh.shape[n] for n in names_in(e)]) for e in entries(spec, ndim)]


def local_type(aval: Any, mesh: Any, spec: Any, manual: Any, typed: Any = False) -> Any:
    """The type of the part that one device has, of arrays that are taken apart over the axes ``manual``;
    ``typed``: one that says along which axes parts differ.
    """
    sizes = [size // count for size, count in zip(aval.shape, counts(mesh, spec, aval.ndim), strict=True)]
    own = [(name, mesh.shape[name]) for name in axes_of(spec)] if typed else ()
    local = with_axes(aval.update(shape=tuple(sizes), spread=None), varying.axes_of(aval).union(own))
    around = mesh_of(aval)
    if around is None:
        return local
    within = mesh.abstract_mesh.taken_apart((*manual, *around.manual_axes))
    return with_entries(local, within, explicit_entries(within, entries_of(aval)))


def global_type(aval: Any, mesh: Any, spec: Any, manual: Any) -> Any:
    """The type of the whole, of parts of a type over the axes ``manual``."""
    sizes = [size * count for size, count in zip(aval.shape, counts(mesh, spec, aval.ndim), strict=True)]
    around = frozenset([pair for pair in varying.axes_of(aval) if pair[0] not in manual])
    whole = with_axes(aval.update(shape=tuple(sizes), spread=None), around)
    cut = [
        (*names_in(over), *names_in(within))
        for over, within in zip(entries(spec, aval.ndim), entries_of(aval), strict=True)
    ]
    return with_entries(whole, mesh.abstract_mesh, explicit_entries(mesh, cut))


def check_spec(spec: Any, mesh: Any, manual: Any, who: Any) -> None:
    """Refuse an axis that the mesh does not have, or that is left to the compiler."""
    if spec.unreduced:
        raise ShardingError(
            f"{who} {spec} names sums that are not added up (unreduced), and within a shard_map each device "
            "has its addend as its own value\n  to fix: hand addends on along a dimension that the axis "
            "cuts, or add up before, rb.reshard(x, P(...)), and with lax.psum within"
        )
    for name in axes_of(spec):
        if name not in mesh.axis_names:
            raise ShardingError(f"{who} {spec} names the axis {name!r}, which is none of {mesh}")
        if name not in manual:
            raise ShardingError(
                f"{who} {spec} names the axis {name!r}, which axis_names leaves to the compiler"
            )


def check_rank(spec: Any, aval: Any, who: Any) -> None:
    """Refuse a spec with more entries than the array has dimensions."""
    if len(spec) > aval.ndim:
        raise ShardingError(
            f"{who} is {spec}, with entries for {len(spec)} dimensions, and the array is {aval.str_short()}; "
            "give a spec of at most as many entries, or reshape the array"
        )


def check_sizes(spec: Any, aval: Any, mesh: Any, who: Any) -> None:
    """Refuse a dimension that cannot be cut into equal parts."""
    for i, count in enumerate(counts(mesh, spec, aval.ndim)):
        if aval.shape[i] % count:
            raise ShardingError(
                f"{who} {spec} cuts dimension {i} of {aval.str_short()} into {count} parts, but its size "
                f"{aval.shape[i]} is not divisible by {count}"
            )


def unmentioned(spec: Any, mesh: Any, manual: Any) -> Any:
    """The axes over which an array is the same on each device, in the order of the mesh."""
    named = axes_of(spec)
    return [n for n in mesh.axis_names if n in manual and n not in named]


def shardings_text(mesh: Any, manual: Any, specs: Any, ranks: Any) -> Any:
    """Shardings of operands or results, as Shardy writes them: axes that are not manual stay open."""
    whole = set(manual) == set(mesh.axis_names)
    parts = []
    for spec, ndim in zip(specs, ranks, strict=True):
        dims = []
        for entry in entries(spec, ndim):
            names = [f'"{n}"' for n in names_in(entry)]
            dims.append("{" + ", ".join(names if whole else [*names, "?"]) + "}")
        parts.append(f"<{mesh_text(mesh)}, [{', '.join(dims)}]>")
    return f"#sdy.sharding_per_value<[{', '.join(parts)}]>"


def with_dimension(spec: Any, axis: Any, ndim: Any, over: Any = ()) -> Any:
    """The spec of arrays with one more dimension at ``axis``, cut over some axes; ``ndim`` without it."""
    found = list(entries(spec, ndim))
    found.insert(axis, over)
    return PartitionSpec(*found)


__all__ = [
    "check_rank",
    "check_sizes",
    "check_spec",
    "entries",
    "global_type",
    "local_type",
    "shardings_text",
    "unmentioned",
    "with_dimension",
]
