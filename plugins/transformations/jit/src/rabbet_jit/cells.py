"""Cells (``rabbet.ref.Ref``) among the arguments of a compiled function, and those that it closes over.

The contents of arguments stand in their places. The contents of cells from outside are inputs behind the
others. What the program leaves in cells that it writes to are outputs behind the others: first those of
arguments, then those from outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.extend.cells import Cell, contents, exchange, put_back, read, write
from rabbet.extend.functions import array_or_tracer, describe_function

from rabbet_jit.tracing import arguments

if TYPE_CHECKING:
    from rabbet.typing import Value

    from rabbet_jit.signature import Signature
    from rabbet_jit.tracing import Program


def refuse_twice(signature: Any) -> None:
    """Refuse a cell in two places: what is written to one would have to show in the other."""
    seen = {}
    for i in signature.cells:
        first = seen.setdefault(id(signature.leaves[i]), i)
        if first != i:
            who, kind = describe_function(signature.fun), type(signature.leaves[i]).__name__
            raise ValueError(
                f"jit of {who}: the same {kind} is passed as {signature.name_of(first)} and as "
                f"{signature.name_of(i)}; pass it once"
            )


def refuse_both(signature: Signature, program: Program) -> None:
    """Refuse a cell that is an argument and is closed over as well."""
    captured = {id(t.cell) for t in program.cells}
    for i in signature.cells:
        if id(signature.leaves[i]) in captured:
            who, kind = describe_function(signature.fun), type(signature.leaves[i]).__name__
            raise ValueError(
                f"jit of {who}: the {kind} that is {signature.name_of(i)} is used inside by another name, "
                "too; use it by one"
            )


def with_contents(signature: Signature) -> Any:
    """The argument leaves with the contents of cells in their places."""
    if not signature.cells:
        return signature.leaves
    refuse_twice(signature)
    return [read(x) if isinstance(x, Cell) else x for x in signature.leaves]


def finish(signature: Signature, program: Any, outs: list[Value]) -> Any:
    """Put back what the program left in cells; the function's own outputs."""
    outs = list(outs)
    count = program.out_tree.num_leaves
    own, left = outs[:count], outs[count:]
    for place, value in zip(program.written, left, strict=False):
        write(signature.leaves[place], value)
    put_back([t for t in program.cells if t.written], left[len(program.written) :])
    return own


def operands(signature: Signature, program: Program, leaves: list[Value]) -> Any:
    """The inputs of the program: argument leaves, then the contents of cells from outside."""
    refuse_both(signature, program)
    return [*leaves, *contents(program.cells)]


MOST_TRIES = 1000


def run(jitted: Any, signature: Any) -> Any:
    """A call at the bottom level that has to do with cells.

    What it writes is put there if nobody wrote in the meantime; else it is computed again from what is there
    now.

    Raises:
      RuntimeError: where computing again would be seen: Python functions would be called twice, or arguments
        were donated.
    """
    for _ in range(MOST_TRIES):
        given = with_contents(signature)
        leaves = arguments(signature.with_leaves(given), array_or_tracer)
        avals = tuple([x.aval for x in leaves])
        program = jitted.program(signature, avals)
        written = [signature.leaves[i] for i in program.written]
        written += [t.cell for t in program.cells if t.written]
        before = [given[i] for i in program.written]
        leaves = operands(signature, program, leaves)
        from_outside = leaves[len(leaves) - len(program.cells) :]
        before += [x for x, t in zip(from_outside, program.cells, strict=True) if t.written]
        leaves, compiled, committed = jitted.placed(signature, program, leaves, avals)
        outs = list(compiled.flat_runner(committed)(leaves))
        effects, count = program.closed.jaxpr.effects, program.out_tree.num_leaves
        if effects and written:  # a callback may write to the cell, and is seen when the program has ended
            for x in outs[count:]:
                x.block_until_ready()
        if exchange(written, before, outs[count:]):
            return tree.unflatten(program.out_tree, outs[:count])
        if effects or jitted.asked.donated:
            break
    kind = type(written[0]).__name__
    raise RuntimeError(
        f"{describe_function(signature.fun)}: a {kind} that it writes was written by another thread or by a "
        "callback while it ran; one of both would have been lost\n  to fix: hold a lock (threading.Lock) "
        f"around the calls, or give each thread a {kind} of its own"
    )
