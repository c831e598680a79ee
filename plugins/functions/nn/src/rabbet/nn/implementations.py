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
        was asked for. ``asked`` is what ``dot_product_attention`` was given besides.
      attend: ``attend(platform, query, key, value, asked) -> [means]``, or ``[means, logarithms]`` if
        ``asked.residual``. Queries and means are ``(batch, key heads, group, time, size)``, keys and values
        ``(batch, key heads, other time, size)``.
      why_not: instead of ``supports``, with its arguments: None, or a pair of texts, what it needs and what
        was given, for the message where it was asked for by name.
      by_default: whether it is used without being asked for by name.
    """

    name: str
    platforms: tuple[str, ...]
    supports: Callable[..., bool] | None = None
    attend: Any = None
    why_not: Callable[..., Any] | None = None
    by_default: bool = True

    def refused(self, platform: str, *arrays_and_asked: Any) -> Any:
        """None if it can do what was asked for; else ``(what it needs, what was given)``."""
        if self.why_not is not None:
            return self.why_not(platform, *arrays_and_asked)
        if self.supports is None or self.supports(platform, *arrays_and_asked):
            return None
        query = arrays_and_asked[0]
        return "cannot do what was asked for", f"queries {query.dtype}{list(query.shape)}"


def installed() -> tuple[Attention, ...]:
    """The implementations that are installed, by name."""
    return _installed(tuple(sys.path))


@functools.lru_cache(maxsize=4)
def _installed(folders):
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return tuple([entry.load() for entry in found])


def for_platforms(
    query: Any, key: Any, value: Any, asked: Any, name: str | None = None
) -> dict[str, Callable[..., list[Any]]]:
    """By platform, the function of queries, keys and values that an installed implementation offers.

    Args:
      name: that of the only one that may be used; None for those that are used by default.

    Raises:
      ValueError: it is not installed, or cannot do what was asked for on any platform.
    """
    chosen: dict[str, Callable[..., list[Any]]] = {}
    reasons: list[str] = []
    for one in installed():
        if name != one.name and (name is not None or not one.by_default):
            continue
        for platform in one.platforms:
            refused = one.refused(platform, query, key, value, asked)
            if refused is not None:
                reasons.append(f"{refused[0]} ({refused[1]})")
            elif platform not in chosen:
                chosen[platform] = functools.partial(one.attend, platform)
    if name is not None and not chosen:
        known = ", ".join([repr(n) for n in ("xla", *[one.name for one in installed()])])
        said = "; ".join(dict.fromkeys(reasons)) or "is not installed"
        raise ValueError(
            f"dot_product_attention: implementation={name!r} {said}\n"
            f"  to fix: None, which takes what there is, or one of {known}"
        )
    return chosen


__all__ = ["Attention", "for_platforms", "installed"]
