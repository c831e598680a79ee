"""The closure matrix: for each primitive and transformation the rule that serves, or why there is none.

A cell is one word: ``own`` (a rule beside the primitive, or the table's own for it), ``kind`` (the table's
rule for one of its kinds), ``parts`` (its decomposition), ``bodies`` (the programs that it carries),
``bridge`` (a third package's), ``derived`` (made from its rule in another table), ``default`` (the table's
rule for all that is left), ``zero`` (a derivative that is zero or does not exist: integers, steps), or a
reason in parentheses. A cell that is none of these is an accident, and ``accidents`` lists those.

Nested transformations: the rules of the inner one are made of primitives, each of which the outer one must
know. ``made_of`` finds them by staging, so that ``unknown`` can say for a pair what is missing.
"""

import inspect
from typing import NamedTuple

from rabbet.extend.passes import Var, bodies_of, stage
from rabbet.extend.primitive import no_tangent

WORDS = {
    "owner": "own", "table": "own", "bridge": "bridge", "body": "bodies", "kind": "kind",
    "derived": "derived", "decomposition": "parts", "otherwise": "default",
}  # fmt: skip


class Cell(NamedTuple):
    """What a table has for a primitive: a word, and for the kind its name or for none the reason."""

    word: str
    detail: str = ""

    def __str__(self):
        return f"({self.detail})" if self.word == "none" else self.word


def cell(table, primitive, reasons=None, platform=None):
    """The cell of a primitive in a table.

    Args:
      table: a ``RuleTable``.
      primitive: a ``Primitive``.
      reasons: ``(primitive) -> str | None``: why the table has nothing to say about such a primitive.
      platform: for ``lower``, one platform.
    """
    found = table.explain(primitive, platform)
    if found is not None:
        reason = getattr(found.rule, "refusal", None)
        if reason:
            return Cell("none", reason)
        if found.source == "derived":
            # Such a rule is as good as the one that it is made from.
            made_from = cell(table.model, primitive, reasons, platform)
            return Cell("derived") if made_from.word not in ("none", "zero") else made_from
        return Cell("zero" if found.rule is no_tangent else WORDS[found.source], found.detail)
    reason = "it has no operands" if no_operands(primitive) else reasons(primitive) if reasons else None
    return Cell("none", reason or "")


def no_operands(primitive):
    """Whether a primitive makes something from its parameters alone, so that no payload can reach it."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return not any(
        p.kind in positional or p.kind is inspect.Parameter.VAR_POSITIONAL
        for p in inspect.signature(primitive.abstract).parameters.values()
    )


def accidents(table, primitives, reasons=None):
    """The primitives that a table neither knows nor has a reason not to know."""
    cells = [(p, cell(table, p, reasons)) for p in primitives]
    return [p for p, c in cells if c.word == "none" and not c.detail]


def made_of(fn, avals):
    """The operations of ``fn``, each with the types of its operands, also those inside bodies.

    Args:
      fn: takes arrays, returns a list of arrays.
      avals: the types of its arguments.

    Returns:
      a list of ``(op, operand avals)``, one for each different pair.
    """
    found = {}
    _collect(stage(fn, avals, "probe").jaxpr, found)
    return list(found.values())


def _collect(jaxpr, found):
    for eqn in jaxpr.equations:
        avals = tuple([v.aval for v in eqn.inputs])
        touched = any(type(v) is Var for v in eqn.inputs)
        if touched:
            found.setdefault((id(eqn.op), avals), (eqn.op, avals))
        for _, body in bodies_of(eqn.op):
            _collect(body, found)


def unknown(table, operations, reasons=None):
    """Which primitives a table would stumble over, going through operations and their decompositions.

    Args:
      table: the outer transformation's.
      operations: what ``made_of`` returned.
      reasons: as for ``cell``.

    Returns:
      names of primitives without a rule and without a reason.
    """
    pending, seen, missing = list(operations), set(), {}
    while pending:
        op, avals = pending.pop()
        if (id(op), avals) in seen:
            continue
        seen.add((id(op), avals))
        found = table.explain(op.primitive)
        if found is None:
            if not cell(table, op.primitive, reasons).detail:
                missing[op.primitive.name] = None
        elif found.source == "decomposition":
            pending += made_of(lambda *xs, op=op, parts=found.rule.parts: _listed(op, parts(op, *xs)), avals)
    return list(missing)


def _listed(op, out):
    return list(out) if op.primitive.multiple_results else [out]


__all__ = ["Cell", "accidents", "cell", "made_of", "no_operands", "unknown"]
