"""What takes the memory of a program: its largest arrays, with the user's lines that made them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from rabbet.messages import source_positions
from rabbet.program.jaxpr import ClosedJaxpr, Jaxpr

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray

SHOWN = 5


def largest(jaxpr: Jaxpr, count: int = SHOWN) -> Any:
    """The largest arrays of a program, those of its bodies included, the largest first.

    Returns:
      a list of ``(bytes, type, what it is)``. Arrays of one type that one line makes count once.
    """
    found = {}
    for i, v in enumerate((*jaxpr.constvars, *jaxpr.invars)):
        found[f"argument {i}", v.aval.str_short()] = size(v.aval)
    collect(jaxpr, found)
    rows = [(size, shown, what) for (what, shown), size in found.items()]
    return sorted(rows, key=lambda row: -row[0])[:count]


def collect(jaxpr: Jaxpr, found: dict[Any, Any]) -> None:
    """Enter the results of all operations into ``found``."""
    for eqn in jaxpr.equations:
        where = f", {source_positions.source_position(eqn.where)}" if eqn.where is not None else ""
        for v in eqn.outputs:
            found[f"{eqn.op.primitive.name}{where}", v.aval.str_short()] = size(v.aval)
        for value in eqn.op.params.values():
            for body in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(body, Jaxpr):
                    collect(body, found)
                elif isinstance(body, ClosedJaxpr):
                    collect(body.jaxpr, found)


def size(aval: ShapedArray) -> int:
    """How many bytes an array of a type takes, without padding."""
    physical = aval.physical
    return prod(physical.shape) * physical.dtype.itemsize


def lines(jaxpr: Any) -> list[str]:
    """The report as lines of text, for a message."""
    head = "  its largest arrays, before operations are joined and arrays leave out padding:"
    return [head, *[f"    {in_units(size):>10}  {shown}  {what}" for size, shown, what in largest(jaxpr)]]


def in_units(count: Any) -> str:
    """A number of bytes as people write it: 1536 is '1.5 KiB'."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    power = 0
    while count >= 1024 and power < len(units) - 1:
        count, power = count / 1024, power + 1
    return f"{count:.{1 if power else 0}f} {units[power]}"


__all__ = ["in_units", "largest", "lines"]
