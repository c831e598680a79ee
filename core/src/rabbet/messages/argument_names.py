"""How messages name what a user passed or returned: the parameter, and the path within it.

Nothing here runs unless something is wrong.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CoroutineType
from typing import Any

from rabbet.errors import UnexpectedTracerError

BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameter_name(fun: Any, position: int) -> str:
    """The quoted name of the parameter at ``position``, or the position where the function does not tell.

    Example:
      >>> from rabbet.extend.functions import parameter_name
      >>> parameter_name(lambda params, x: x, 1), parameter_name(max, 1)
      ("'x'", '1')
    """
    try:
        names = [p.name for p in inspect.signature(fun).parameters.values() if p.kind in BY_POSITION]
    except (TypeError, ValueError):
        names = []
    return repr(names[position]) if position < len(names) else str(position)


def argument_name(fun: Any, path: tuple[Any, ...], positions: list[int] | None = None) -> str:
    """``argument 'params'['w']`` for the path of a leaf in ``(args, kwargs)``.

    Args:
      fun: the function that was called.
      path: a key path.
      positions: where the positional arguments stand among the function's own, if some were taken out.

    Example:
      >>> from rabbet.extend.functions import argument_name
      >>> leaves, structure = rb.tree.flatten((({"w": 1.0, "b": 2.0}, 3.0), {}))
      >>> argument_name(lambda params, x: x, rb.tree.leaf_path(structure, 1))
      "argument 'params'['w']"
    """
    group, which, *rest = path
    if group.idx == 1:
        return f"keyword argument {which.key!r}{''.join(map(str, rest))}"
    position = which.idx if positions is None else positions[which.idx]
    return f"argument {parameter_name(fun, position)}{''.join(map(str, rest))}"


def convert_leaves(convert: Callable[..., Any], leaves: list[Any], refusal: Callable[..., Any]) -> Any:
    """``convert`` of every leaf; of the first one that ``convert`` refuses with a ``TypeError``,
    ``refusal(index, leaf)`` is the text.

    Example:
      >>> from rabbet.extend.functions import array_or_tracer, convert_leaves, describe_value
      >>> def refusal(index, leaf):
      ...     return f"argument {index} is not an array: {describe_value(leaf)}"
      >>> convert_leaves(array_or_tracer, [1.0, "fast"], refusal)
      Traceback (most recent call last):
          ...
      TypeError: argument 1 is not an array: str ('fast')
    """
    try:
        return [convert(x) for x in leaves]
    except UnexpectedTracerError:
        raise
    except TypeError:
        for i, x in enumerate(leaves):
            if not _accepted(convert, x):
                raise TypeError(refusal(i, x)) from None
        raise


def _accepted(convert: Callable[..., Any], x: Any) -> bool:
    try:
        convert(x)
    except TypeError:
        return False
    return True


def describe_value(x: Any) -> str:
    """``str ('fast')``: the type and the beginning of the text of a value.

    Example:
      >>> from rabbet.extend.functions import describe_value
      >>> describe_value("fast")
      "str ('fast')"
    """
    text = repr(x)
    shown = f"{type(x).__name__} ({text if len(text) <= 40 else text[:37] + '...'})"
    if type(x) is CoroutineType:
        x.close()  # nobody will await it
        return f"{shown}; the function is async: make an ordinary one of what computes, await outside of it"
    return shown


__all__ = ["BY_POSITION", "argument_name", "convert_leaves", "describe_value", "parameter_name"]
