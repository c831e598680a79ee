"""Promotion as a finite order: which dtype is the least that holds both.

A lattice is a graph of names with edges upward; ``join`` finds the least upper bound, once per set of
names. Plugins add names to it. A new name may give joins of its own, but never change what two older
names join to: what a program computes must not depend on which packages happen to be installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from rabbet.errors import PluginConflictError

__all__ = ["Lattice"]


class Lattice:
    """A partial order in which names are looked up by their upper bounds.

    Args:
      edges: for each name the names directly above it.
    """

    def __init__(self, edges: Mapping[str, Any]) -> None:
        self.edges = {name: tuple(above) for name, above in edges.items()}
        self._bounds = self._upper_bounds(self.edges)
        self._joins = {}

    def __contains__(self, name: str) -> bool:
        return name in self.edges

    def join(self, names: Iterable[str]) -> str | None:
        """The least name that is above all of ``names`` (or is one of them); None where there is no
        single one.
        """
        asked = frozenset(names)
        try:
            return self._joins[asked]
        except KeyError:
            common = frozenset.intersection(*[self._bounds[name] for name in asked])
            least = [name for name in common if common <= self._bounds[name]]
            joined = self._joins[asked] = least[0] if least else None
            return joined

    def extended(self, name: str, above: Sequence[str] = (), below: Sequence[str] = ()) -> Lattice:
        """A copy with a new name, directly above the names ``above`` and directly below the names ``below``.

        Raises PluginConflictError if a neighbour is unknown, the order gets a cycle or an old join would
        change.
        """
        unknown = [n for n in (*above, *below) if n not in self.edges]
        if unknown:
            raise PluginConflictError(
                f"dtype {name!r} is placed beside {unknown[0]!r}, which promotion does not know\n"
                f"  known: {', '.join(sorted(self.edges))}"
            )
        edges = {n: (*up, name) if n in above else up for n, up in self.edges.items()}
        edges[name] = tuple(below)
        larger = Lattice(edges)
        under = [n for n in self.edges if name in larger._bounds[n]]
        for pair in combinations(under, 2):
            before, after = self.join(pair), larger.join(pair)
            if before != after:
                raise PluginConflictError(
                    f"dtype {name!r} would change how {' and '.join(pair)} promote: {before}, now {after}\n"
                    f"  it is above {', '.join(above)} and below {', '.join(below) or 'nothing'}; "
                    f"place it above {before} instead, or above fewer dtypes"
                )
        return larger

    @staticmethod
    def _upper_bounds(edges: Mapping[str, Any]) -> dict[str, Any]:
        bounds = {}

        def visit(name: str, path: Any) -> Any:
            if name in path:
                cycle = " < ".join((*path[path.index(name) :], name))
                raise PluginConflictError(
                    f"promotion would go in a circle: {cycle}\n  to fix: `above` names the dtypes that "
                    "promote to this "
                    "one, `below` those that it promotes to: above=('float*',), below=('float32',)"
                )
            if name not in bounds:
                above = [visit(up, (*path, name)) for up in edges[name]]
                bounds[name] = frozenset({name}).union(*above)
            return bounds[name]

        for name in edges:
            visit(name, ())
        return bounds
