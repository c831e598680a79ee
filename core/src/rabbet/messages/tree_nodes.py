"""Nodes of trees in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def describe(node: Any, level: Any, alone: Sequence[Any] = ()) -> str:
    """In words what a node is; ``alone`` are the keys that it has and the other has not."""
    kind = type(node).__qualname__
    if node is None:
        return "None"
    if level is None:
        return f"a leaf ({kind})"
    if isinstance(node, dict):
        more = f", of which only here: {shorten(alone)}" if alone else ""
        return f"{kind} with the keys {shorten([*node])}{more}"
    if type(node) in (list, tuple):
        return f"{kind} of length {len(node)}"
    metadata = "" if level[2] is None or level[2] is type(node) else f" and metadata {shorten(level[2])}"
    return f"{kind} with {len(level[1])} children{metadata}"


def shorten(x: Any, limit: int = 400) -> str:
    """The text of ``x``, its middle left out where it is long."""
    text = str(x)
    return text if len(text) <= limit else f"{text[: limit // 2]} ... {text[-limit // 2 :]}"


__all__ = ["describe", "shorten"]
