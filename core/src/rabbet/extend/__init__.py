"""Everything a plugin author may import, besides ``rabbet`` itself: one module for each kind of work.

=====================  ===============================================================================
``transform``          ``Interpreter``, ``run``, ``RuleTable``, and an entry point in ``rabbet.api``;
                       ``RuleSet`` and an entry point in ``rabbet.rules`` for rules between two others
``primitive``          ``Primitive`` with its rules beside it; every primitive of core by its name
``rules``              what rules of primitives are written with: checks, batch dimensions, StableHLO
``dtype``              ``DTypeSpec`` (``rabbet.dtypes``) or ``ExtendedDType``
``backend``            ``Backend`` or ``CApiBackend`` and an entry point in ``rabbet.backends``
``passes``             ``Pass`` and an entry point in ``rabbet.passes``; programs as data
``hooks``              ``hookimpl`` and an entry point in ``rabbet.hooks``
``bodies``             programs within programs, for transformations and primitives that carry some
``functions``          a library of public functions such as ``rabbet.numpy``
``wrapping``           functions around functions of users, and warnings that point at their lines
``native``             jaxlib's profiler, functions of other languages, programs as HLO and as bytes
``cells``              places with a value that functions may replace, and how they are handed on
``sharding``           ``Sharding``: how arrays lie over several devices, and programs over them
``processes``          several processes: a store that they share, who looks after their programs
``shapes``             ``SymbolicDimension``: shapes that are not all numbers while a function is traced
``cost``               what operations cost before they are compiled, and the table of such rules
``commands``           commands of ``rabbet`` and checks of ``rabbet doctor``
=====================  ===============================================================================

What is not in these modules is private and may change. Importing one of them loads no other.
"""

from __future__ import annotations

from typing import Any

import importlib

__passes_operations_on__ = True

DOORS = (
    "transform", "primitive", "rules", "dtype", "backend", "passes", "hooks", "bodies", "functions",
    "wrapping", "native", "cells", "sharding", "processes", "commands", "shapes", "cost",
    "settings",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in DOORS:
        return importlib.import_module(f"rabbet.extend.{name}")
    raise AttributeError(f"rabbet.extend has no {name!r}; its modules are {', '.join(DOORS)}")


def __dir__() -> list[str]:
    return [*DOORS]
