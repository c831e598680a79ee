"""Rules beside a primitive under a name that no table has, and that is spelled much like one that has.

A rule may be for the table of a package that is not installed, so an unknown name by itself is no fault.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.errors import PluginWarning, RuleConflict
from rabbet.messages import function_names, source_positions
from rabbet.messages.spelling import nearest

if TYPE_CHECKING:
    from rabbet.primitives.elementwise import Product
    from rabbet.rules.primitive import Primitive

WORDS = (
    "evaluate", "body", "captures", "extended", "codes", "explicit", "feeds", "partition", "runs", "varying"
)  # fmt: skip
"""Names of rules beside a primitive that are of no table."""

CLOSE = 0.75  # "bacth" for "batch"


def problems(primitive: Product | Primitive, tables: dict[Any, Any]) -> Any:
    """``(rule, the name that was meant, what to say)`` for each such rule of a primitive."""
    known = {*tables, *WORDS}
    found = []
    for rule in primitive.rules:
        name = rule.partition(":")[0]
        meant = [] if name in known else nearest(name, known, cutoff=CLOSE)
        for one in meant:
            where = function_names.address(primitive.rules[rule])
            words = (
                f"primitive {primitive.name!r} has a rule {rule!r} ({where}), and no table has that name: "
                f"did you mean {one!r}?\n  to fix: @{primitive.name}.rule({one!r})"
            )
            found.append((rule, one, words))
    return found


def tell(primitive: Product | Primitive, table: str, tables: dict[Any, Any]) -> None:
    """Warn of rules that seem to be meant for a table; an error while checks are on.

    Raises:
      RuleConflict: under ``config.enable_checks``.
    """
    for _, meant, words in problems(primitive, tables):
        if meant != table:
            continue
        if config.enable_checks:
            raise RuleConflict(words)
        warnings.warn(words, PluginWarning, stacklevel=source_positions.stacklevel())


__all__ = ["problems", "tell"]
