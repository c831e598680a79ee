"""Who computes attention where: a table of implementations that other packages bring.

A package names an ``Attention`` by an entry point in ``rabbet.attention``. On the platforms that it names it
is used for what it supports; everywhere else attention is computed by plain operations.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

GROUP = "rabbet.attention"


@dataclasses.dataclass(frozen=True)
class Attention:
    """An implementation of attention.

    Args:
      name: that of its entry point, and what ``implementation=`` calls it.
      platforms: where it is used, ``("cuda", "tpu")``.
      supports: ``supports(platform, query, key, value, asked) -> bool``, of types: whether it can do what
      was asked
        for. ``asked`` is what ``dot_product_attention`` was given besides.
      attend: ``attend(platform, query, key, value, asked) -> [means]``, or ``[means, logarithms]`` if
        ``asked.residual``. Queries and means are ``(batch, key heads, group, time, size)``, keys and values
        ``(batch, key heads, other time, size)``.
    """

    name: str
    platforms: tuple[str, ...]
    supports: Callable[..., bool]
    attend: Callable[..., list[Any]]


def installed() -> tuple[Attention, ...]:
    """The implementations that are installed, by name."""
    return _installed(tuple(sys.path))


@functools.lru_cache(maxsize=4)
def _installed(folders):
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return tuple([entry.load() for entry in found])


def for_platforms(query: Any, key: Any, value: Any, asked: Any) -> dict[str, Callable[..., list[Any]]]:
    """By platform, the function of queries, keys and values that an installed implementation offers."""
    chosen: dict[str, Callable[..., list[Any]]] = {}
    for one in installed():
        for platform in one.platforms:
            if platform not in chosen and one.supports(platform, query, key, value, asked):
                chosen[platform] = functools.partial(one.attend, platform)
    return chosen


__all__ = ["Attention", "for_platforms", "installed"]
