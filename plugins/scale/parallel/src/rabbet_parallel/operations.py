"""Operations on values that types and shardings speak of, entered by the modules that define them.

A type says how a value is brought to it, and a sharding how a traced value is laid out; the primitives that
do so are typed by these classes and stand in modules above them (``constraints``). Here the two meet, so that
no module imports one that imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rabbet.extend.sharding import Sharding

    from rabbet_parallel.named_sharding import NamedSharding
    from rabbet_parallel.partition_spec import PartitionSpec

F = TypeVar("F", bound=Callable[..., Any])


class Operations:
    """What ``provides`` has been given, by name; complete when the package is imported."""

    laid_out: Callable[..., Any]
    hidden: Callable[[Any, Any], Any]
    revealed: Callable[[Any, Any], Any]
    as_addends: Callable[[Any, Any, frozenset, frozenset], Any]
    constrained: Callable[[Any, Any], Any]
    constraints_for: Callable[[Any, Any], list]
    results_over_meshes: Callable[[Any, Any, NamedSharding], list | None]
    sharding_on: Callable[[Any, PartitionSpec], NamedSharding]
    as_sharding: Callable[[Any, str], Sharding]
    write_partitioned: Callable[[Any, Callable[..., Any], Any], Any]


operations = Operations()


def provides(function: F) -> F:
    """Enter a function into ``operations`` under its name; return it."""
    setattr(operations, function.__name__, function)
    return function


__all__ = ["Operations", "operations", "provides"]
