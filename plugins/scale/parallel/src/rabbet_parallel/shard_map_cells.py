"""Cells (``rabbet.ref.Ref``) among the arguments of ``shard_map``: each device sees one with its part of the
content, and what the devices leave there is put together again.
"""

from __future__ import annotations

from typing import Any

from rabbet import tree
from rabbet.extend.cells import Cell, read, write
from rabbet.extend.transform import typeof

from rabbet_parallel.explicit_sharding import entries_along, entries_of
from rabbet_parallel.partition_spec import PartitionSpec


def call_with_cells(mapped: Any, args: Any, leaves: list[Any], in_tree: Any) -> Any:
    """The call of a ``Mapped`` whose arguments hold cells."""
    places = [i for i, x in enumerate(leaves) if isinstance(x, Cell)]
    refuse_twice(mapped, leaves, places)
    contents = [read(x) if isinstance(x, Cell) else x for x in leaves]
    specs = specs_of(mapped, args, contents)
    written = set()

    def on_parts(*parts: Any) -> Any:
        values = list(parts)
        for i in places:
            values[i] = leaves[i].within(parts[i])
        result = mapped.f(*tree.unflatten(in_tree, values))
        after = [values[i].content for i in places]
        # Not the cells themselves, which would outlive the trace.
        written.update(i for i, content in zip(places, after, strict=True) if content is not parts[i])
        return result, after

    out_specs = mapped.out_specs, [specs[i] for i in places]
    inner = mapped.of(on_parts, None if mapped.in_specs is None else tuple(specs), out_specs)
    result, left = inner.call(*contents)
    for i, content in zip(places, left, strict=True):
        if i in written:
            write(leaves[i], content)
    return result


def refuse_twice(mapped: Any, leaves: list[Any], places: list[int]) -> None:
    """Refuse a cell in two places: what is written to one would have to show in the other."""
    twice = [i for i in places if any(leaves[i] is leaves[j] for j in places if j < i)]
    if twice:
        i, kind = twice[0], type(leaves[twice[0]]).__name__
        raise ValueError(f"{mapped.who}: the same {kind} is argument leaf {i} and one before; pass it once")


def specs_of(mapped: Any, args: Any, contents: list[Any]) -> list[Any]:
    """The spec of each leaf of the arguments, as given or as types say it."""
    if mapped.in_specs is not None:
        given = tuple(mapped.in_specs) if isinstance(mapped.in_specs, list) else mapped.in_specs
        names = (f"{mapped.who}: in_specs", "the arguments")
        return tree.broadcast_prefix(given, args, lambda node: node is None, names=names)
    _, manual = mapped.where(args)
    return [PartitionSpec(*entries_along(manual, entries_of(typeof(x)))) for x in contents]


__all__ = ["call_with_cells"]
