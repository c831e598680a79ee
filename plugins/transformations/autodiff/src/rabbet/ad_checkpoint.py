"""``rb.checkpoint`` and what belongs to it: names for values, and a look at what reverse mode keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet_autodiff import checkpoint, print_saved_residuals, remat, saved_residuals
from rabbet_autodiff.primitives.checkpoint import name as _named

from rabbet import checkpoint_policies, tree
from rabbet.checkpoint_policies import Offloadable
from rabbet.extend.functions import array_or_tracer, is_evaluating, public_module

if TYPE_CHECKING:
    from rabbet.typing import Value

__all__ = [
    "Offloadable", "checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals", "remat",
    "saved_residuals",
]  # fmt: skip


def checkpoint_name(x: Value, name: str) -> Value | dict[Any, Any]:
    """``x`` (a pytree of arrays), under a name that policies such as ``save_only_these_names`` speak of.

    Example:
      >>> import functools
      >>> policy = rb.checkpoint_policies.save_only_these_names("hidden")
      >>> @functools.partial(rb.checkpoint, policy=policy)
      ... def layer(w, x):
      ...     return rnp.sin(checkpoint_name(w @ x, "hidden"))
      >>> rb.grad(lambda w: layer(w, rnp.ones(2)).sum())(rnp.zeros((1, 2)))
      Array([[1., 1.]], dtype=float32)
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name takes a name (a string), got {type(name).__name__}: {name!r:.60}")
    if is_evaluating():
        return tree.map(array_or_tracer, x)
    return tree.map(lambda leaf: _named(array_or_tracer(leaf), name=name), x)


public_module(globals())
