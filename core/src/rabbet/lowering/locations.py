"""Source positions in a module: each user line is defined once, ``#l3 = loc("model.py":12:5)``, and
operations refer to it.
"""

from __future__ import annotations

from typing import Any

from rabbet.lowering.attributes import quoted
from rabbet.messages import source_positions


class Locations:
    """The positions that a module has mentioned so far."""

    def __init__(self) -> None:
        self._names = {}
        self._definitions = {}

    def name(self, where: tuple[Any, ...], first: str = "", last: str = "") -> str:
        """``loc(#l3)`` for a user position ``(code, lasti)`` and a path in front, which profiles show:
        ``jit(f)/attn/sin`` of the function (``first``), the named scopes around, and the operation
        (``last``).
        """
        try:
            return self._names[where, first, last]
        except KeyError:
            position = source_positions.source_position(where)
            symbol = self._symbol(f"{quoted(position.file)}:{position.line}:{position.column or 0}")
            scopes = where.names if type(where) is source_positions.Scoped else ()
            path = "/".join([part for part in (first, *scopes, last) if part])
            if path:
                symbol = self._symbol(f"{quoted(path)}({symbol})")
            text = self._names[where, first, last] = f"loc({symbol})"
            return text

    def _symbol(self, definition: str) -> Any:
        """The name of a location, which stands in the module behind those that it refers to."""
        return self._definitions.setdefault(definition, f"#l{len(self._definitions)}")

    def definitions(self) -> list[str]:
        """The lines that define the names, for the end of the module."""
        return [f"{symbol} = loc({definition})" for definition, symbol in self._definitions.items()]
