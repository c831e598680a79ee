"""What parameters mean that many of core's primitives have: their types and a few words, for `rabbet
explain` and the page of primitives. What a primitive has alone stands beside it
(``Primitive(parameters=...)``). A test compares the names with the shape rules.
"""

from __future__ import annotations

import inspect
from typing import Any

# By the name of the parameter, for all primitives of core that say nothing of their own.
SHARED = {
    "accuracy": "lax.AccuracyMode, lax.Tolerance or None: how exact the compiler must be; None: as it is",
    "axes": "tuple of int: the dimensions that disappear",
    "dimensions": "tuple of int: the dimensions, counted from 0",
    "jaxpr": "Jaxpr: the program",
    "memory": 'str: the kind of memory, such as "pinned_host"',
    "new_dtype": "dtype: that of the result",
    "index_dtype": "dtype: the integer one of the result",
}


def names_of(abstract: Any) -> list[str]:
    """The names of the parameters that a shape rule of core's takes: what is not an array."""
    return [
        p.name
        for p in inspect.signature(abstract).parameters.values()
        if p.kind != p.VAR_POSITIONAL and "ShapedArray" not in str(p.annotation) and p.name not in ("x", "xs")
    ]


def of_core(abstract: Any, own: dict[str, str] | None) -> dict[str, str]:
    """What a primitive of core's says of its parameters, by name, in the order of its shape rule."""
    said = {**SHARED, **(own or {})}
    return {parameter: said.get(parameter, "") for parameter in names_of(abstract)}


__all__ = ["names_of", "of_core"]
