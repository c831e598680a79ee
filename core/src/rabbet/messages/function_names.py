"""Names of functions: how messages tell them, and how wrappers take them over."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.messages.source_positions import short_path

if TYPE_CHECKING:
    from rabbet.rules.primitive import Primitive


def name_of(function: Any) -> str:
    """The ``__name__`` of a callable, or of its type where it has none that is a text.

    Example:
      >>> from rabbet.extend.wrapping import name_of
      >>> name_of(len), name_of(object())
      ('len', 'object')
    """
    function = getattr(function, "func", function)  # of a functools.partial
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def under_name(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function that does the same as another one, under a name of its own, for tools that ask for it.

    Example:
      >>> from rabbet.extend.wrapping import under_name
      >>> def half(x):
      ...     return x / 2
      >>> halve = under_name(half, "halve")
      >>> halve.__name__, halve(4)
      ('halve', 2.0)
    """
    code, closure = function.__code__, function.__closure__
    copy = types.FunctionType(code, function.__globals__, name, function.__defaults__, closure)
    for attribute in ("__kwdefaults__", "__annotations__", "__module__", "__doc__"):
        setattr(copy, attribute, getattr(function, attribute))
    copy.__dict__.update(function.__dict__)
    copy.__qualname__ = name
    return copy


# What a function takes of another one only in this form; an object that is called may have any.
FORMS = {"__name__": str, "__qualname__": str, "__annotations__": dict, "__type_params__": tuple}


def wraps(function: Primitive | Callable[..., Any], doc: str | None = None) -> Any:
    """``functools.wraps`` for any callable: what has no ``__name__`` gives that of its type, a ``partial``
    that of its function. ``doc`` is a sentence about the new function, in which ``{}`` is the name of the
    old one; the old docstring follows.

    Example:
      >>> from rabbet.extend.wrapping import wraps
      >>> wraps(len)(lambda x: len(x)).__name__
      'len'
    """

    def decorate(wrapper: Any) -> Any:
        names = [
            name for name in functools.WRAPPER_ASSIGNMENTS
            if name not in FORMS or isinstance(getattr(function, name, None), FORMS[name])
        ]  # fmt: skip
        wrapped = functools.update_wrapper(wrapper, function, names)
        for name in ("__name__", "__qualname__"):
            if name not in names:
                setattr(wrapped, name, name_of(function))
        own = getattr(function, "__doc__", None)
        if isinstance(function, functools.partial):  # its own docstring is that of the class
            wrapped.__module__ = getattr(function.func, "__module__", wrapped.__module__)
            own = wrapped.__doc__ = getattr(function.func, "__doc__", None)
        if doc is not None:
            wrapped.__doc__ = doc.format(name_of(function)) + (f"\n\n{own}" if own else "")
        return wrapped

    return decorate


# An object that has every attribute has wrappers without end.
MOST_WRAPPERS = 100


def address(function: Any) -> Any:
    """``file:line`` of a function (seen through ``functools.wraps`` and ``partial``), for messages.

    Example:
      >>> from rabbet.extend.commands import address
      >>> address(address).startswith("rabbet/messages/function_names.py:")
      True
    """
    for _ in range(MOST_WRAPPERS):
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        if not callable(inner) or inner is function:
            break
        function = inner
    code = getattr(function, "__code__", None)
    if type(code) is not types.CodeType:  # an object with a __call__ written in Python
        code = getattr(vars(type(function)).get("__call__"), "__code__", None)
    if type(code) is types.CodeType:
        return f"{short_path(code.co_filename)}:{code.co_firstlineno}"
    return f"{getattr(function, '__module__', None) or type(function).__module__} (no source)"


def describe_function(function: Any) -> Any:
    """``name (file:line)`` of a function, for messages.

    Example:
      >>> from rabbet.extend.functions import describe_function
      >>> def layer(x):
      ...     return x
      >>> describe_function(layer).partition(" ")[0]
      'layer'
    """
    if getattr(function, "described", None) is not None:  # one of ours, which stands for a program
        return function.described
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if name is None and isinstance(function, functools.partial):
        name = f"partial of {getattr(function.func, '__qualname__', type(function.func).__name__)}"
    where = address(function)
    if where.startswith(
        "rabbet/runtime/execution/dispatch.py"
    ):  # one of Rabbet's own functions, known by its name
        return str(name)
    return f"{name or type(function).__qualname__} ({where})"


class LeafNames(NamedTuple):
    """How messages name the arguments of a function that is traced as one of flat leaves."""

    name_of: Callable[[int], str]
    may_be_static: bool


LEAF_NAMES = "__leaf_names__"


def named_like(
    wrapper: Any, function: Any, name_of: Callable[[int], str] | None = None, may_be_static: bool = False
) -> Any:
    """Let messages name ``function`` where they meet ``wrapper``; returns ``wrapper``.

    Args:
      wrapper: a function.
      function: the user's function for which it stands.
      name_of: where the wrapper takes the leaves of the function's arguments, from the number of a leaf to
        what messages call it, such as ``argument 'params'['w']`` (see ``argument_name``).
      may_be_static: whether the user can make arguments static, with ``static_argnames``.

    Example:
      >>> from rabbet.extend.functions import describe_function, named_like
      >>> def layer(x):
      ...     return x
      >>> describe_function(named_like(lambda x: layer(x), layer)).partition(" ")[0]
      'layer'
    """
    wrapper.__wrapped__ = function
    setattr(wrapper, LEAF_NAMES, None if name_of is None else LeafNames(name_of, may_be_static))
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if isinstance(name, str):
        wrapper.__qualname__ = name
    return wrapper


__all__ = [
    "LEAF_NAMES", "address", "describe_function", "name_of", "named_like", "under_name", "wraps",
]  # fmt: skip
