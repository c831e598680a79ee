"""Lowering one primitive by others, where only some of its forms need that (else: a decomposition)."""

from rabbet.trace.staging import stage


def inline(op, parts, names):
    """Write what ``parts`` computes in the place of an equation.

    Args:
      op: the lowering site.
      parts: from arrays of ``op``'s input types to the one result.
      names: the operands.

    Returns:
      the name of the result.
    """
    closed = stage(lambda *args: [parts(*args)], op.in_avals, op.primitive.name)
    return op.inline(closed.jaxpr, names)[0]
