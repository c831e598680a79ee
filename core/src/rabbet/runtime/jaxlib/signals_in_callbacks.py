"""Exceptions of signal handlers that ran where a program called Python.

While a program computes, Python handles no signal. It does so as soon as it is called, before the first line
of the callback, where nothing of ours can catch what the handler raises: jaxlib makes text of it. The
exception is made again from its name there, so that Ctrl-C stays a KeyboardInterrupt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

# The last line says what was raised. What is raised further inside is put aside (see `failures`).
_RAISED = re.compile(r"(\w+)(?::[ ]?(.*))?")


def raised_at_the_door(text: str) -> Any:
    """The exception that the text of an error tells of; None if it tells of another."""
    lines = text.rstrip().splitlines()
    found = _RAISED.fullmatch(lines[-1]) if "error calling callback" in text else None
    if found is None:
        return None
    kinds = {kind for kind in _below(BaseException) if kind.__name__ == found[1]}
    if len(kinds) != 1:  # two have this name, or none: the text says what there is to say
        return None
    (kind,) = kinds
    return kind.__new__(kind, *[found[2]] if found[2] else [])


def _below(kind: Any) -> Iterator[Any]:
    yield kind
    for one in type.__subclasses__(kind):
        yield from _below(one)


__all__ = ["raised_at_the_door"]
