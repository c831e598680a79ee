"""What Rabbet's own packages offer, installed or not: so that a program on a small installation is told what
it lacks.

The list is data, ``catalogue.json``, which ``tools/write/catalogue.py`` makes of the packages' metadata; a
test compares them. It is read when something is missing. Strangers' packages need no line in it.
"""

from __future__ import annotations

import functools
import os
from typing import Any


@functools.cache
def offers() -> dict[Any, Any]:
    """``{group: {name: what to install}}``."""
    import json

    with open(os.path.join(os.path.dirname(__file__), "catalogue.json"), encoding="utf-8") as file:
        return json.load(file)


def provider(group: str, name: str) -> str | None:
    """What to install for a name of an entry-point group, ``"rabbet-autodiff"``; None where no first-party
    package offers it.
    """
    return offers().get(group, {}).get(name)


def names(group: str) -> list[str]:
    """The names that first-party packages offer in a group."""
    return list(offers().get(group, ()))


@functools.cache
def official_packages() -> frozenset[Any]:
    """The names of Rabbet's own distributions that offer something to users, which no other package can have.

    Example:
      >>> from rabbet.extend.hooks import official_packages
      >>> "rabbet-jit" in official_packages()
      True
    """
    offering = {package for names in offers().values() for package in names.values()}
    return frozenset({"rabbet", "rabbet-core", *offering})


__all__ = ["names", "offers", "official_packages", "provider"]
