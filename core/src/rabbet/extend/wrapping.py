"""Functions around functions of users, warnings that point at their lines, and which lines are Rabbet's."""

from rabbet.messages.source_positions import is_internal, name_of, short_path, stacklevel, wraps

__all__ = [
    "is_internal",
    "name_of",
    "short_path",
    "stacklevel",
    "wraps",
]


def __dir__():
    return list(__all__)
