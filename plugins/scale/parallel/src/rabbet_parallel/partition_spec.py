"""``PartitionSpec``: which axes of a mesh cut which dimension of an array."""

from __future__ import annotations

from typing import Any

from rabbet.errors import ArgumentError, ShardingError
from rabbet.extend.functions import folded

from rabbet_parallel.operations import operations


class Unconstrained:
    """The type of ``PartitionSpec.UNCONSTRAINED``."""

    def __repr__(self) -> Any:
        return "UNCONSTRAINED"

    def __reduce__(self) -> Any:
        return "UNCONSTRAINED"


UNCONSTRAINED = Unconstrained()


class PartitionSpec:
    """For each dimension of an array the axis of a mesh that cuts it: a name, a tuple of names (the first one
    outermost), or None for a dimension that is whole. Dimensions that are left out are whole.

    ``PartitionSpec.UNCONSTRAINED`` stands for a dimension that the compiler may cut as it likes, within
    ``with_sharding_constraint``.

    Args:
      partitions: the entries.
      unreduced: axes of type ``Explicit`` along which each device holds an addend of the value.
      reduced: axes along which the value is added up, and said so: its products with parts are parts of sums.

    Raises:
      ShardingError: for an axis that occurs twice. TypeError: for what is none of these.

    Example:
      >>> from rabbet.sharding import PartitionSpec as P
      >>> P("x", None), P(("x", "y")), P("x")[0]
      (P('x', None), P(('x', 'y'),), 'x')
    """

    __slots__ = ("partitions", "reduced", "unreduced")
    UNCONSTRAINED = UNCONSTRAINED

    @folded
    def __init__(self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()) -> None:
        found = []
        for entry in partitions:
            if isinstance(entry, (tuple, list)):
                entry = tuple(entry)
                entry = None if not entry else entry[0] if len(entry) == 1 else entry
            found.append(entry)
        self.partitions = tuple(found)
        names = [name for entry in self.partitions for name in names_in(entry)]
        for name in names:
            if names.count(name) > 1:
                raise ShardingError(
                    f"P{self.partitions!r}: the axis {name!r} occurs twice; an axis cuts one dimension"
                )
        self.unreduced, self.reduced = _axes(unreduced, "unreduced"), _axes(reduced, "reduced")
        for one, other in ((names, self.unreduced), (names, self.reduced), (self.unreduced, self.reduced)):
            twice = sorted(set(one) & other)
            if twice:
                raise ShardingError(
                    f"{self}: the axis {twice[0]!r} occurs twice; it cuts a dimension, or is unreduced, or "
                    "reduced"
                )

    def __len__(self) -> Any:
        return len(self.partitions)

    def __iter__(self) -> Any:
        return iter(self.partitions)

    def __getitem__(self, i: Any) -> Any:
        return self.partitions[i]

    def __add__(self, other):
        return self.update(partitions=(*self.partitions, *other))

    def __radd__(self, other):
        return self.update(partitions=(*other, *self.partitions))

    def __eq__(self, other):
        return (
            type(other) is PartitionSpec
            and self.partitions == other.partitions
            and self.unreduced == other.unreduced
            and self.reduced == other.reduced
        )

    def __hash__(self):
        return hash((PartitionSpec, self.partitions, self.unreduced, self.reduced))

    def __repr__(self):
        if not self.unreduced and not self.reduced:
            return f"P{self.partitions!r}"
        parts = [repr(e) for e in self.partitions]
        for word, axes in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if axes:
                parts.append(f"{word}={{{', '.join(map(repr, sorted(axes)))}}}")
        return f"P({', '.join(parts)})"

    def __reduce__(self):
        return _remade, (self.partitions, self.unreduced, self.reduced)

    def __sharding__(self, name: Any) -> Any:
        """The sharding that it stands for on the mesh of ``set_mesh``."""
        return operations.as_sharding(self, name)

    def index(self, entry: Any) -> Any:
        """The first dimension with this entry."""
        return self.partitions.index(entry)

    def count(self, entry: Any) -> Any:
        """How many dimensions have this entry."""
        return self.partitions.count(entry)

    def update(self, *, partitions=None, unreduced=None, reduced=None):
        """A spec that differs in what is given."""
        return PartitionSpec(
            *(self.partitions if partitions is None else partitions),
            unreduced=self.unreduced if unreduced is None else unreduced,
            reduced=self.reduced if reduced is None else reduced,
        )


def _remade(partitions, unreduced, reduced):
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def _axes(given, word):
    """A set of axes, of the argument called ``word``."""
    if not isinstance(given, (set, frozenset)):
        shown = "{" + repr(given) + "}" if isinstance(given, str) else "{...}"
        raise ArgumentError(
            f"PartitionSpec: {word} must be a set or frozenset of names of axes, got {given!r:.60}\n"
            f"  to fix: {word}={shown}"
        )
    names = frozenset(given)
    if None in names:
        raise ArgumentError(f"PartitionSpec: {word} holds names of axes, got None")
    return names


def names_in(entry: Any) -> Any:
    """The axes of one entry of a spec, outermost first."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def axes_of(spec: Any) -> Any:
    """All axes of a spec."""
    return tuple([name for entry in spec for name in names_in(entry)])


__all__ = ["UNCONSTRAINED", "PartitionSpec", "axes_of", "names_in"]
