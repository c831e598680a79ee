"""``in_axes`` by the names of arguments: ``{"x": 0, "scale": None}``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from rabbet.extend.functions import describe_function

if TYPE_CHECKING:
    from collections.abc import Callable

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def axes_by_name(
    fun: Callable[..., Any], in_axes: dict[Any, Any], args: tuple[Any, ...], kwargs: dict[Any, Any]
) -> tuple[tuple[Any, ...], dict[Any, Any]]:
    """``in_axes`` as an entry for each positional and each keyword argument of a call; 0 for those that it
    does not name. The entry of a parameter ``*xs`` is for all that it takes, or a tuple of entries.

    Raises:
      TypeError: for keys that are no names. ValueError: for names that the call has no argument of.
    """
    for name in in_axes:
        if not isinstance(name, str):
            raise TypeError(
                f"vmap of {describe_function(fun)}: the keys of in_axes, if it is a dict, are names of "
                f"arguments, got {in_axes!r:.200}; give a tuple for arguments by position"
            )
    names, rest = _positions(fun, len(args))
    entries = [in_axes.get(name, 0) for name in names]
    if len(args) > len(names):
        extra = in_axes.get(rest, 0)
        count = len(args) - len(names)
        several = extra if isinstance(extra, tuple) else (extra,) * count
        if len(several) != count:
            raise ValueError(
                f"vmap of {describe_function(fun)}: in_axes has {len(several)} entries for {rest!r}, the "
                f"function was called with {count}"
            )
        entries.extend(several)
        names = [*names, rest]
    unknown = [name for name in in_axes if name not in names and name not in kwargs]
    allowed = _with_defaults(fun)
    unknown = [name for name in unknown if name not in allowed]
    if unknown:
        have = [name for name in (*names, *kwargs) if name is not None]
        raise ValueError(
            f"vmap of {describe_function(fun)}: in_axes names {unknown[0]!r}, the function was called with "
            f"{', '.join(map(repr, have)) or 'no argument that has a name'}"
        )
    return tuple(entries), {name: in_axes.get(name, 0) for name in kwargs}


def _parameters(fun: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function; none where it does not tell."""
    try:
        return list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return []


def _positions(fun: Callable[..., Any], count: int) -> tuple[list[Any], Any]:
    """The names of ``count`` positional arguments, as far as they have their own, and that of the parameter
    that takes the others.
    """
    parameters = _parameters(fun)
    rest = [p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    return [p.name for p in parameters if p.kind in POSITIONAL][:count], rest[0] if rest else None


def _with_defaults(fun: Callable[..., Any]) -> list[str]:
    """Parameters that a call may leave out: an entry for one is no mistake."""
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        p.name
        for p in _parameters(fun)
        if (p.default is not p.empty or p.kind in optional) and p.kind is not inspect.Parameter.VAR_KEYWORD
    ]


__all__ = ["axes_by_name"]
