"""``pjit``: the older name of ``rb.jit`` for functions over several devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rabbet_parallel.named_sharding import as_sharding
from rabbet_parallel.partition_spec import PartitionSpec

import rabbet
from rabbet import tree
from rabbet.extend.functions import public_module as _public_module


def pjit(fun: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """``rb.jit(fun, **options)``, which follows the shardings of its arguments and takes ``in_shardings`` and
    ``out_shardings``; a ``PartitionSpec`` alone is meant on the mesh of ``with mesh:``, too.

    Example:
      >>> from rabbet.experimental.pjit import pjit
      >>> pjit(lambda x: x + 1.0)(np.float32(1))
      Array(2., dtype=float32)
    """
    for name in ("in_shardings", "out_shardings"):
        if options.get(name) is not None:
            options[name] = tree.map(_Spec.of, options[name], is_leaf=lambda x: x is None)
    return rabbet.jit(fun, **options)


class _Spec:
    """A ``PartitionSpec`` that may be meant on the mesh of ``with mesh:``."""

    def __init__(self, spec: PartitionSpec) -> None:
        self.spec = spec

    @classmethod
    def of(cls, given: Any) -> Any:
        return cls(given) if isinstance(given, PartitionSpec) else given

    def __sharding__(self, name: str) -> Any:
        return as_sharding(self.spec, name, entered=True)


__all__ = ["pjit"]

_public_module(globals())
