"""``platform_dependent``: other code for other platforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rabbet import tree
from rabbet.lax import branching
from rabbet.primitives.platforms import OTHERS, place_of, platform_index
from rabbet.program.context import Context, context
from rabbet.runtime.arrays.values import common_device


def platform_dependent(*args: Any, default: Callable | None = None, **per_platform: Callable) -> Any:
    """Run one of several functions, chosen by the platform for which the program is lowered.

    Args:
      args: pytrees of arrays, the arguments of each function.
      default: the function for all platforms without one of their own; by default there is none.
      per_platform: functions by platform, ``cpu=..., cuda=..., tpu=...``, which return pytrees of one
        structure and the same types.

    Returns:
      what the chosen function returns. Where nothing is traced, the others do not run; traced, all are
      traced and transformed, and only the chosen one is written into the lowered program.

    Raises:
      NotImplementedError: on a platform for which there is no function.

    Example:
      >>> x = rnp.array([3, 1, 2])
      >>> lax.platform_dependent(x, cpu=rnp.sort, default=lambda x: lax.sort(x, is_stable=False))
      Array([1, 2, 3], dtype=int32)
    """
    names = list(per_platform) + ([OTHERS] if default is not None else [])
    branches = list(per_platform.values()) + ([default] if default is not None else [])
    for name, branch in zip(names, branches, strict=True):
        if not callable(branch):
            which = "default" if name is OTHERS else name
            raise TypeError(f"platform_dependent: {which} must be a function, got {type(branch).__name__}")
    if not branches:
        raise TypeError("platform_dependent needs a function for a platform, or a default")
    if runs_at_once():
        device, _ = common_device(tree.leaves(args), "platform_dependent")
        return branches[place_of(device.platform, tuple(names))](*args)
    if len(branches) == 1 and default is not None:
        return default(*args)
    return branching.branch("platform_dependent", platform_index(platforms=tuple(names)), branches, args)


def runs_at_once() -> bool:
    """Whether operations are executed in the end, under whatever transformations, and not recorded."""
    interpreter = context.interpreter
    while interpreter.parent is not None:
        interpreter = interpreter.parent
    return interpreter is Context.interpreter


__all__ = ["platform_dependent"]
