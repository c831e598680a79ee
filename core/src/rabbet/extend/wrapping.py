"""Functions around functions of users, warnings that point at their lines, which lines are Rabbet's, and
attributes for the operations of a block.
"""

from __future__ import annotations

from rabbet.messages.source_positions import is_internal, name_of, short_path, stacklevel, wraps
from rabbet.scopes import operation_attributes

__all__ = [
    "is_internal",
    "name_of",
    "operation_attributes",
    "short_path",
    "stacklevel",
    "wraps",
]


def __dir__() -> list[str]:
    return list(__all__)
