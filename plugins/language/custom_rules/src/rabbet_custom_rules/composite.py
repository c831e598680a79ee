"""``composite``: a function under a name that a backend may know better."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from rabbet import tree, typeof
from rabbet.extend.bodies import Body
from rabbet.extend.functions import array_or_tracer, folded, is_evaluating

from rabbet_custom_rules import composite_primitive


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable:
    """``decomposition`` as one operation with a name of its own in the lowered program.

    A backend that knows the name, the version and the attributes may replace it by something faster; any
    other one compiles the decomposition. Transformations go through the decomposition. Usable as a decorator
    with ``functools.partial``.

    Args:
      decomposition: a function of pytrees of arrays, and of keywords, the attributes.
      name: such as ``"my.tangent"``.
      version: an int that says when the meaning of the name has changed.

    Returns:
      a function of the same positional arguments and keywords. Keywords are numbers, strings, NumPy arrays,
      or lists or dicts of these; those that are None are not written down.

    Example:
      >>> tangent = lax.composite(lambda x: lax.div(lax.sin(x), lax.cos(x)), "my.tangent")
    """
    if not callable(decomposition):
        raise TypeError(f"composite takes a function and a name, got {type(decomposition).__name__}")
    version = operator.index(version)

    @functools.wraps(decomposition)
    @folded
    def composed(*args: Any, **attributes: Any) -> Any:
        if is_evaluating(beneath=True):
            return decomposition(*args, **attributes)
        written = tuple(
            [(k, composite_primitive.attribute(v)) for k, v in attributes.items() if v is not None]
        )
        leaves, in_tree = tree.flatten(args)
        leaves = [array_or_tracer(x) for x in leaves]

        def of_arrays(*args: Any) -> Any:
            return decomposition(*args, **attributes)

        body = Body(of_arrays, in_tree, [typeof(x) for x in leaves])
        outs = composite_primitive.composite(
            *body.consts, *leaves, jaxpr=body.program, name=name, version=version, attributes=written
        )
        return tree.unflatten(body.out_tree, outs)

    return composed


__all__ = ["composite"]
