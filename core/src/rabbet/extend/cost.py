"""What operations cost before they are compiled: ``Cost``, the table ``cost``, ``cost_of`` a program."""

from __future__ import annotations

from rabbet.primitives.costs import Cost, cost, cost_of

__all__ = [
    "Cost",
    "cost",
    "cost_of",
]


def __dir__() -> list[str]:
    return list(__all__)
