"""What to say where a rule failed: which rule, for which primitive, and how it came to be asked."""

from rabbet.messages import function_names, source_positions
from rabbet.rules import contracts
from rabbet.rules.tables import Decomposed, Through


def miscounted(table, primitive, rule, out, wanted, where):
    """The error for a rule that did not return one payload per result.

    Args:
      out: what it returned.
      wanted: how many results the primitive has.
      where: the user's position, or None.
    """
    given = f"a list of {len(out)}" if type(out) in (list, tuple) else f"a {type(out).__name__}"
    place = None if where is None else source_positions.source_position(where)
    called = "" if place is None else f", called at {place}"
    return TypeError(
        f"the {table.name!r} rule for primitive {primitive.name!r} ({function_names.address(rule)}) "
        f"returned {given}; {primitive.name!r} has {wanted} results{called}. A rule of a primitive with "
        "several results returns a list of as many payloads"
    )


def blamed(error, table, op, rule, payloads, out):
    """What to raise where something failed on what a rule returned: what the table's contract says is wrong
    with it, else the error as it is. Asked only then, so that checks cost nothing where all is well.
    """
    if table is None or table.contract is None or type(rule) in (Decomposed, Through):
        return error
    try:
        problem = table.contract(op, payloads, out)
    except Exception:  # the operands are no payloads either: there is nothing better to say
        return error
    if problem is None:
        return error
    return contracts.broken(f"the {table.name!r} rule for primitive {op.primitive.name!r}", rule, problem)


def reached(error, table, primitive, where):
    """Extend ``MissingRule`` on its way out: by which rule for which primitive it was reached, and from
    which user line. One that says all of it already (``complete``) stays as it is.

    Args:
      error: the ``MissingRule``.
      table, primitive: whose rule was running.
      where: the user's position, or None.
    """
    if getattr(error, "complete", False):
        return
    lines = error.args[0].split("\n")
    if not hasattr(error, "chain"):
        # The innermost caller knows the user's line.
        error.chain = 0
        if where is not None:
            lines.insert(1, f"  called at {source_positions.source_position(where)}")
    if getattr(error, "missing", None) != (table, primitive):
        found = table.explain(primitive)
        if found is not None:
            error.chain += 1
            lines.insert(error.chain, f"  reached from {described(found, table, primitive)}")
    error.args = ("\n".join(lines),)


def described(found, table, primitive):
    """A rule in words, with its address."""
    if found.source == "body":
        return f"the body of {primitive.name!r}, which {table.name!r} goes through"
    if found.source == "decomposition":
        return f"the decomposition of {primitive.name!r} ({function_names.address(found.rule.parts)})"
    kind = f" (by kind {found.detail!r})" if found.source == "kind" else ""
    kind = f" (from that for {found.detail!r})" if found.source == "derived" else kind
    return f"the {table.name!r} rule for {primitive.name!r}{kind} ({function_names.address(found.rule)})"
