"""Results of compiled functions, put together from the list of their arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rabbet import tree

LEAF = tree.structure(0)


def assembler(structure: Any) -> Callable[..., Any] | type | None:
    """A function from the list of arrays to a result of this structure; None for a single array.

    What most functions return, a tuple, a list or a dict of arrays, is made by Python itself: the walk
    through a structure takes up to a tenth of a call.
    """
    if structure == LEAF:
        return None
    node = structure.node_data()
    if node is not None and all(child == LEAF for child in structure.children()):
        kind, data = node
        if kind is tuple:
            return tuple
        if kind is list:
            return list
        if kind is dict:
            # To say `strict` at each call would take half as long again.
            pairs = functools.partial(zip, tuple(data))
            return with_structure(lambda leaves: dict(pairs(leaves)), structure)
    return with_structure(functools.partial(tree.unflatten, structure), structure)


def with_structure(made: Callable[..., Any], structure: tree.PyTreeDef) -> Callable[..., Any]:
    """Say what a function makes, for a frame that can make it without the function."""
    made.structure = structure  # type: ignore[attr-defined]
    return made
