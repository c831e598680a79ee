"""Functions around functions of users, and warnings that point at the user's line."""

from rabbet.messages.source_positions import name_of, stacklevel, wraps

__all__ = [
    "name_of",
    "stacklevel",
    "wraps",
]


def __dir__():
    return list(__all__)
