"""``pjit``: the older name of ``rb.jit`` for functions over several devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rabbet
from rabbet.extend.functions import public_module as _public_module


def pjit(fun: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """``rb.jit(fun, **options)``, which follows the shardings of its arguments and takes ``in_shardings`` and
    ``out_shardings``.

    Example:
      >>> from rabbet.experimental.pjit import pjit
      >>> pjit(lambda x: x + 1.0)(np.float32(1))
      Array(2., dtype=float32)
    """
    return rabbet.jit(fun, **options)


__all__ = ["pjit"]

_public_module(globals())
