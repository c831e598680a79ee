"""What to say where a rule failed: which rule, for which primitive, and how it came to be asked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.errors import MissingRule
from rabbet.messages import function_names, source_positions
from rabbet.rules import contracts
from rabbet.rules.tables import Decomposed, Through

if TYPE_CHECKING:
    from rabbet.rules.operator import Op
    from rabbet.rules.payloads import Batched
    from rabbet.rules.primitive import Primitive
    from rabbet.rules.tables import RuleTable


def miscounted(
    table: RuleTable,
    primitive: Primitive,
    rule: Callable[..., Any],
    out: list[Batched | tuple[Any, ...]] | tuple[Any, ...],
    wanted: int,
    where: tuple[Any, ...],
) -> Any:
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


def blamed(error: Any, table: RuleTable, op: Any, rule: Callable[..., Any], payloads: Any, out: Any) -> Any:
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


def reached(error: Any, table: RuleTable, primitive: Primitive, where: tuple[Any, ...] | None) -> None:
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


def attribute(error: Any, what: Any, rule: Callable[..., Any], where: Any = None) -> None:
    """Note on an error that left a rule of a stranger's which rule that was: with its package, where it
    stands and the user's line. The innermost one is named, and nothing is noted of Rabbet's own rules, whose
    errors say by themselves what they refuse.

    Args:
      what: the rule in words, ``"the decomposition of primitive 'twice'"``.
      where: the user's position, or None.
    """
    if isinstance(error, MissingRule) or getattr(error, "attributed", False):
        return
    try:
        module = getattr(rule, "__module__", None) or ""
        owner = owner_of(module)
        if is_ours(module, owner):
            return
        called = "" if where is None else f", called at {source_positions.source_position(where)}"
        itself = "; it calls itself without end" if isinstance(error, RecursionError) else ""
        error.add_note(f"in {what}{owner} ({function_names.address(rule)}){called}{itself}")
        error.attributed = True
    except RecursionError:  # there is no room yet: a caller has more
        return


owner_of = functools.lru_cache(source_positions.owner)


def is_ours(module: str, owner: str) -> bool:
    """Whether a module belongs to one of Rabbet's own packages."""
    return module == "rabbet" or module.startswith("rabbet.") or owner.split(" ")[2:3] in official()


def nobody() -> Any:
    """No packages: what ``official`` is until ``rabbet`` is composed."""
    return []


official = nobody


def set_official(names: Callable[..., Any]) -> None:
    """Name the function that returns the names of Rabbet's own distributions. Called once, by composition."""
    global official
    official = functools.cache(lambda: [[name] for name in names()])


def named(table: RuleTable, op: Op, rule: Callable[..., Any]) -> tuple[str, Any]:
    """A rule in words, and the function that it is."""
    if type(rule) is Decomposed:
        return f"the decomposition of primitive {op.primitive.name!r}", rule.parts
    return f"the {table.name!r} rule for primitive {op.primitive.name!r}", getattr(rule, "body", rule)


def described(found: Any, table: RuleTable, primitive: Primitive) -> str:
    """A rule in words, with its address."""
    if found.source == "body":
        return f"the body of {primitive.name!r}, which {table.name!r} goes through"
    if found.source == "decomposition":
        return f"the decomposition of {primitive.name!r} ({function_names.address(found.rule.parts)})"
    kind = f" (by kind {found.detail!r})" if found.source == "kind" else ""
    kind = f" (from that for {found.detail!r})" if found.source == "derived" else kind
    return f"the {table.name!r} rule for {primitive.name!r}{kind} ({function_names.address(found.rule)})"
