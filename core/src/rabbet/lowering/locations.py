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
        self._places: dict[tuple[Any, ...], Place] = {}
        self._definitions: dict[str, str] = {}

    def place(self, where: tuple[Any, ...], first: str = "") -> Place:
        """The locations of operations at a user position ``(code, lasti)``, by the operation's name, and a
        path in front, which profiles show: ``jit(f)/attn/sin`` of the function (``first``), the named scopes
        around, and the operation.
        """
        scopes = where.scopes if type(where) is source_positions.Scoped else ()
        # By the identity of the code: hashing a code object reads all of it. ``Place`` keeps it alive.
        key = id(where[0]), where[1], scopes, first
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = Place(self, where, first)
        return found

    def _symbol(self, definition: str) -> str:
        """The name of a location, which stands in the module behind those that it refers to."""
        return self._definitions.setdefault(definition, f"#l{len(self._definitions)}")

    def definitions(self) -> list[str]:
        """The lines that define the names, for the end of the module."""
        return [f"{symbol} = loc({definition})" for definition, symbol in self._definitions.items()]


class Place(dict):
    """``loc(#l3)`` by the name of an operation that stands at a position, made when first asked for."""

    __slots__ = ("locations", "path", "symbol", "where")

    def __init__(self, locations: Locations, where: tuple[Any, ...], first: str) -> None:
        position = source_positions.source_position(where)
        self.locations, self.where = locations, where
        self.symbol = locations._symbol(f"{quoted(position.file)}:{position.line}:{position.column or 0}")
        scopes = where.names if type(where) is source_positions.Scoped else ()
        self.path = [part for part in (first, *scopes) if part]

    def __missing__(self, name: str) -> str:
        path = "/".join([*self.path, name] if name else self.path)
        symbol = self.locations._symbol(f"{quoted(path)}({self.symbol})") if path else self.symbol
        text = self[name] = f"loc({symbol})"
        return text


__all__ = ["Locations", "Place"]
