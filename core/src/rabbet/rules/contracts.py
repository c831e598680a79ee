"""What rules must return, looked at where they return: under ``config.enable_checks``, and always in the test
kit.

A table may have a ``contract``, ``(op, payloads, out) -> problem or None``. While checks are on, ``lookup``
gives its rules in a wrapper that asks it, and decompositions in one that compares their results with the
shape rule.
As long as nobody turns checks on, no rule is ever wrapped and calls cost what they cost without.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.messages import function_names, source_positions

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.primitives.elementwise import Product
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.rules.primitive import Primitive
    from rabbet.rules.tables import RuleTable
    from rabbet.typing import Value

wanted = False
"""Whether checks have been on at some time: then lookups wrap."""


def checked(table: RuleTable, primitive: Product | Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that asks the table's contract about what it returns, as long as checks are on."""

    @functools.wraps(rule)
    def checked_rule(op: Site | Op, *payloads: Any) -> Any:
        out = rule(op, *payloads)
        if config.enable_checks:
            problem = table.contract(op, payloads, out)
            if problem is not None:
                what = f"the {table.name!r} rule for primitive {primitive.name!r}"
                raise broken(what, rule, problem)
        return out

    return checked_rule


def checked_parts(
    primitive: Primitive, parts: Callable[..., Any], types_of: Callable[..., Any]
) -> Callable[..., Any]:
    """A decomposition whose results are compared with the primitive's shape rule, as long as checks are on.

    Args:
      types_of: ``(op, args, outs) -> (types of the results, wanted types)``.
    """

    @functools.wraps(parts)
    def checked_decomposition(op: Op, *args: Value) -> list[Value] | Value:
        out = parts(op, *args)
        if config.enable_checks:
            have, expected = types_of(op, args, out)
            problem = differing(out, have, expected, primitive.multiple_results)
            if problem is not None:
                raise broken(f"the decomposition of primitive {primitive.name!r}", parts, problem)
        return out

    return checked_decomposition


def differing(
    out: list[Value] | Value, have: list[ShapedArray], expected: tuple[ShapedArray, ...], several: bool
) -> str | None:
    """What is wrong with results of types ``have`` where ``expected`` are due; None if nothing."""
    shown = ", ".join([a.str_short() for a in expected])
    if have is None:
        kind = f"a list of {len(expected)} arrays" if several else "one array"
        return f"returned {described(out)}, and the shape rule says {kind}: {shown}"
    if [(a.shape, a.dtype) for a in have] != [(a.shape, a.dtype) for a in expected]:
        return f"returned {', '.join([a.str_short() for a in have])}, and the shape rule says {shown}"
    return None


def broken(what: Any, rule: Callable[..., Any], problem: str) -> Exception:
    """The error for a rule that broke its contract: names what it is, its package and where it stands."""
    package = source_positions.owner(getattr(rule, "__module__", None) or "")
    return TypeError(f"{what}{package} ({function_names.address(rule)}) {problem}")


def described(value: Any) -> str:
    """A result that is not what it should be, in a few words."""
    if type(value) in (list, tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"


def turn_on() -> bool:
    """Wrap rules from now on; True if that is new, so that remembered lookups must be forgotten."""
    global wanted
    new, wanted = not wanted, True
    return new


__all__ = ["broken", "checked", "checked_parts", "described", "differing", "turn_on"]
