"""The table: how each primitive is written, by its name, and rules that others bring, by primitive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BY_NAME: dict[str, Callable] = {}
BY_PRIMITIVE: dict[Any, Callable] = {}


class Unsupported(Exception):
    """A rule does not know this case of its primitive; its text says which."""


def rule(primitive: Any) -> Callable[[Callable], Callable]:
    """Decorator: how a primitive is written in ONNX.

    The function gets the ``Graph``, the equation (``equation.params``), and a value with ``name``,
    ``shape`` and ``dtype`` for each operand; it returns the name of the result, or a list of names.

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> double = Primitive("double", lambda x: x)
      >>> @rb.onnx.rule(double)
      ... def double_rule(graph, equation, x):
      ...     return graph.node("Add", x.name, x.name)
    """

    def register(function):
        if primitive in BY_PRIMITIVE or getattr(primitive, "name", None) in BY_NAME:
            raise ValueError(f"onnx.rule: {primitive.name!r} has a rule already")
        BY_PRIMITIVE[primitive] = function
        return function

    return register


def named(*names):
    """Decorator: how the primitives of these names are written."""

    def register(function):
        BY_NAME.update(dict.fromkeys(names, function))
        return function

    return register


def find(primitive):
    """The rule of a primitive, or None."""
    return BY_PRIMITIVE.get(primitive) or BY_NAME.get(primitive.name)


__all__ = ["Unsupported", "find", "named", "rule"]
