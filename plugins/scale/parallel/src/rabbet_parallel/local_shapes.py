"""Specs and local shapes: what one device has of an array that ``shard_map`` takes apart."""

from __future__ import annotations

import math
from typing import Any

from rabbet.errors import ShardingError
from rabbet_collectives import varying
from rabbet_collectives.varying import with_axes

from rabbet_parallel.explicit_sharding import entries_of, explicit_entries, mesh_of, with_entries
from rabbet_parallel.partition_spec import axes_of, names_in
from rabbet_parallel.shardy_text import mesh_text, unreduced_text
from rabbet_parallel.unreduced_sums import COMPILER_KNOWS, reduced_of, unreduced_of
from rabbet_parallel.unreduced_sums import with_axes as with_addends


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
    own, sums, said = [
        [(name, mesh.shape[name]) for name in names] if typed else ()
        for names in (axes_of(spec), spec.unreduced, spec.reduced)
    ]
    outside = varying.axes_of(aval), varying.sums_of(aval), varying.said_of(aval)
    sets = [one.union(more) for one, more in zip(outside, (own, sums, said), strict=True)]
    local = with_axes(aval.update(shape=tuple(sizes), spread=None), *sets)
    local = with_addends_left(local, aval, mesh, manual)
    around = mesh_of(aval)
    if around is None:
        return local
    within = mesh.abstract_mesh.taken_apart((*manual, *around.manual_axes))
    return with_entries(local, within, explicit_entries(within, entries_of(aval)))


def with_addends_left(local: Any, aval: Any, mesh: Any, manual: Any) -> Any:
    """The type of a part with what that of the whole says of sums along axes that are not taken apart."""
    sums, said = unreduced_of(aval).difference(manual), reduced_of(aval).difference(manual)
    return with_addends(local, mesh.abstract_mesh.taken_apart(manual), sums, said) if sums or said else local


def global_type(aval: Any, mesh: Any, spec: Any, manual: Any) -> Any:
    """The type of the whole, of parts of a type over the axes ``manual``."""
    sizes = [size * count for size, count in zip(aval.shape, counts(mesh, spec, aval.ndim), strict=True)]
    around = [
        frozenset([pair for pair in pairs if pair[0] not in manual])
        for pairs in (varying.axes_of(aval), varying.sums_of(aval), varying.said_of(aval))
    ]
    whole = with_axes(aval.update(shape=tuple(sizes), spread=None), *around)
    sums, said = [
        [name for name in (*own, *left) if name in mesh.explicit_axes]
        for own, left in ((spec.unreduced, unreduced_of(aval)), (spec.reduced, reduced_of(aval)))
    ]
    whole = with_addends(whole, mesh.abstract_mesh, frozenset(sums), frozenset(said))
    cut = [
        (*names_in(over), *names_in(within))
        for over, within in zip(entries(spec, aval.ndim), entries_of(aval), strict=True)
    ]
    return with_entries(whole, mesh.abstract_mesh, explicit_entries(mesh, cut))


def check_spec(spec: Any, mesh: Any, manual: Any, who: Any) -> None:
    """Refuse an axis that the mesh does not have, or that is left to the compiler."""
    if spec.unreduced and not COMPILER_KNOWS:
        raise ShardingError(
            f"{who} {spec} names sums that are not added up (unreduced), which the compiler of this jaxlib "
            "does not take\n  to fix: hand addends on along a dimension that the axis cuts, add up before, "
            "rb.reshard(x, P(...)), and with lax.psum within, or use jaxlib 0.12"
        )
    for name in sorted(spec.unreduced | spec.reduced):
        if name in mesh.axis_names and name not in mesh.explicit_axes and name not in mesh.manual_axes:
            raise ShardingError(
                f"{who} {spec}: unreduced and reduced name axes of type Explicit, and {name!r} is none of "
                f"{mesh}\n  to fix: rb.make_mesh(..., axis_types=AxisType.Explicit)"
            )
    for name in (*axes_of(spec), *sorted(spec.unreduced), *sorted(spec.reduced)):
        if name not in mesh.axis_names:
            raise ShardingError(f"{who} {spec} names the axis {name!r}, which is none of {mesh}")
        if name not in manual:
            raise ShardingError(
                f"{who} {spec} names the axis {name!r}, which axis_names leaves to the compiler"
            )


def sums_of(spec: Any, aval: Any) -> frozenset:
    """The axes along which an operand or result of this type is a sum not added up yet."""
    return spec.unreduced | unreduced_of(aval)


def check_rank(spec: Any, aval: Any, who: Any) -> None:
    """Refuse a spec with more entries than the array has dimensions."""
    if len(spec) > aval.ndim:
        raise ShardingError(
            f"{who} is {spec}, with entries for {len(spec)} dimensions, and the array is {aval.str_short()}; "
            "give a spec of at most as many entries, or reshape the array"
        )


def check_sums(spec: Any, aval: Any, manual: Any, who: Any) -> None:
    """Refuse a result that is a sum not added up yet, or said to be added up, and whose spec says otherwise.

    What is only said to be added up may leave as what all devices share.
    """
    for word, told, pairs in (
        ("unreduced", spec.unreduced, varying.sums_of(aval)),
        ("reduced", spec.reduced, varying.said_of(aval)),
    ):
        have = frozenset([name for name, _ in pairs if name in manual])
        if have != told and (word == "unreduced" or told):
            shown = f"{word}={{{', '.join(map(repr, sorted(have)))}}}" if have else f"no {word} axes"
            raise ShardingError(
                f"{who} is {aval.str_short()}, with {shown}, and its spec is {spec}\n  to fix: name in "
                "out_specs what its type says, add up with lax.psum, or bring it there with lax.pcast"
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


def shardings_text(mesh: Any, manual: Any, specs: Any, ranks: Any, sums: Any) -> Any:
    """Shardings of operands or results, as Shardy writes them: axes that are not manual stay open. ``sums``:
    along which axes each is a sum not added up yet.
    """
    whole = set(manual) == set(mesh.axis_names)
    parts = []
    for spec, ndim, unreduced in zip(specs, ranks, sums, strict=True):
        dims = []
        for entry in entries(spec, ndim):
            names = [f'"{n}"' for n in names_in(entry)]
            dims.append("{" + ", ".join(names if whole else [*names, "?"]) + "}")
        parts.append(f"<{mesh_text(mesh)}, [{', '.join(dims)}]{unreduced_text(mesh, unreduced)}>")
    return f"#sdy.sharding_per_value<[{', '.join(parts)}]>"


def with_dimension(spec: Any, axis: Any, ndim: Any, over: Any = ()) -> Any:
    """The spec of arrays with one more dimension at ``axis``, cut over some axes; ``ndim`` without it."""
    found = list(entries(spec, ndim))
    found.insert(axis, over)
    return spec.update(partitions=found)


__all__ = [
    "check_rank",
    "check_sizes",
    "check_spec",
    "check_sums",
    "entries",
    "global_type",
    "local_type",
    "shardings_text",
    "sums_of",
    "unmentioned",
    "with_dimension",
]
