"""Settings that a package brings by an entry point in ``rabbet.settings``, and what they accept."""

from __future__ import annotations

from rabbet.config.setting import Alias, Setting, boolean, choice, names, number, path, seconds, size, word

__all__ = [
    "Alias",
    "Setting",
    "boolean",
    "choice",
    "names",
    "number",
    "path",
    "seconds",
    "size",
    "word",
]


def __dir__() -> list[str]:
    return list(__all__)
