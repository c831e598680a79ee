"""How the compiler is told that a value is a sum not added up yet.

A constraint that names unreduced axes does not make addends of a value: the compiler passes it on to the
operation that computes the value, each device computes all of it, and the sum has it once a device. So it is
told first how the value itself lies; but not of a sum over a dimension that these axes cut, as of a product
of matrices, whose addends are there.
"""

from __future__ import annotations

import re
from typing import Any

from rabbet_parallel.explicit_sharding import entries_of
from rabbet_parallel.partition_spec import names_in
from rabbet_parallel.shardy_text import spec_text, unreduced_text
from rabbet_parallel.unreduced_sums import COMPILER_KNOWS, cut_by, mesh_of_sums, unreduced_of

DOT = re.compile(r"stablehlo.dot_general (%\w+), (%\w+),.* contracting_dims = \[([\d, ]*)\] x \[([\d, ]*)\]")
SUM = re.compile(
    r"stablehlo.reduce\((%\w+) init: %\w+\) applies stablehlo.add across dimensions = \[([\d, ]*)\]"
)
THROUGH = re.compile(r"stablehlo.(?:transpose|convert|negate|reshape) (%\w+)[ ,]")


def as_sum(op: Any, x: str) -> str:
    """The operand of an operation whose result's type says otherwise than its own along which axes it is a
    sum, so that a constraint as the result's type says makes that of it.
    """
    have, wanted = unreduced_of(op.in_avals[0]), unreduced_of(op.out)
    if have == wanted or not COMPILER_KNOWS:
        return x
    if wanted and not have - wanted and adds_up(op, x, wanted - have):
        return x
    mesh = next(m for m in map(mesh_of_sums, (op.out, op.in_avals[0])) if m is not None)
    extra = op.out.physical.ndim - op.out.ndim
    cuts = spec_text(mesh, (*entries_of(op.out), *[None] * extra), bool(mesh.auto_axes))
    return op.emit(
        f"sdy.sharding_constraint {x} <{cuts}{unreduced_text(mesh, have & wanted)}> : {op.out.mlir}"
    )


def adds_up(op: Any, name: str, axes: frozenset) -> bool:
    """Whether a value is computed as a sum over dimensions that exactly these axes cut."""
    line = op.line_of(name) or ""
    if found := THROUGH.match(line):
        return adds_up(op, found[1], axes)
    if found := DOT.match(line):
        pairs = [(found[1], found[3]), (found[2], found[4])]
    elif found := SUM.match(line):
        pairs = [(found[1], found[2])]
    else:
        return False
    cuts = [cut_along(op, operand, dims) for operand, dims in pairs]
    # Of axes that cut other dimensions, too, the compiler would have to choose.
    operands = [op.aval_of(operand) for operand, _ in pairs]
    others = [set(cut_by(aval)).difference(*cut) for aval, cut in zip(operands, cuts, strict=True) if aval]
    return (
        all(cut == cuts[0] for cut in cuts)
        and frozenset().union(*cuts[0]) == axes
        and not (axes.intersection(*[set().union(*others)]))
    )


def cut_along(op: Any, name: str, dims: str) -> list[tuple]:
    """The axes that cut these dimensions of an operand, as its type says."""
    aval = op.aval_of(name)
    if aval is None:
        return []
    entries = entries_of(aval)
    return [tuple(names_in(entries[int(d)])) for d in dims.split(",") if d.strip()]


__all__ = ["as_sum"]
