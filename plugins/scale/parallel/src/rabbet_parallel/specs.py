"""``PartitionSpec``: which axes of a mesh cut which dimension of an array."""

from __future__ import annotations

from typing import Any

from rabbet.errors import ShardingError
from rabbet.extend.functions import folded


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

    ``unreduced`` and ``reduced``, sets of axes in JAX, may be given where they are empty.

    Raises:
      ShardingError: for an axis that occurs twice. TypeError: for what is none of these.
      NotImplementedError: for axes in ``unreduced`` or ``reduced``.

    Example:
      >>> from rabbet.sharding import PartitionSpec as P
      >>> P("x", None), P(("x", "y")), P("x")[0]
      (P('x', None), P(('x', 'y'),), 'x')
    """

    __slots__ = ("partitions",)
    UNCONSTRAINED = UNCONSTRAINED

    @folded
    def __init__(self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()) -> None:
        if unreduced or reduced:
            raise NotImplementedError(
                "PartitionSpec: sums that are not added up yet (unreduced, reduced) are not types of arrays "
                "here; leave them out, and add up within shard_map by lax.psum"
            )
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
                raise ShardingError(f"{self}: the axis {name!r} occurs twice; an axis cuts one dimension")

    unreduced = property(lambda self: frozenset(), doc="The axes over which sums are not added up: none.")
    reduced = property(lambda self: frozenset(), doc="The axes over which gradients are not added up: none.")

    def __len__(self) -> Any:
        return len(self.partitions)

    def __iter__(self) -> Any:
        return iter(self.partitions)

    def __getitem__(self, i: Any) -> Any:
        return self.partitions[i]

    def __add__(self, other: Any) -> Any:
        return PartitionSpec(*self.partitions, *other)

    def __radd__(self, other: Any) -> Any:
        return PartitionSpec(*other, *self.partitions)

    def __eq__(self, other: Any) -> Any:
        return type(other) is PartitionSpec and self.partitions == other.partitions

    def __hash__(self) -> Any:
        return hash((PartitionSpec, self.partitions))

    def __repr__(self) -> Any:
        return f"P{self.partitions!r}"

    def __reduce__(self) -> Any:
        return PartitionSpec, self.partitions

    def __sharding__(self, name: Any) -> Any:
        """The sharding that it stands for on the mesh of ``set_mesh``."""
        from rabbet_parallel.named import as_sharding

        return as_sharding(self, name)

    def index(self, entry: Any) -> Any:
        """The first dimension with this entry."""
        return self.partitions.index(entry)

    def count(self, entry: Any) -> Any:
        """How many dimensions have this entry."""
        return self.partitions.count(entry)

    def update(
        self, *, partitions: Any = None, unreduced: Any = frozenset(), reduced: Any = frozenset()
    ) -> Any:
        """A spec with other entries."""
        partitions = self.partitions if partitions is None else partitions
        return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def names_in(entry: Any) -> Any:
    """The axes of one entry of a spec, outermost first."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def axes_of(spec: Any) -> Any:
    """All axes of a spec."""
    return tuple([name for entry in spec for name in names_in(entry)])


__all__ = ["UNCONSTRAINED", "PartitionSpec", "axes_of", "names_in"]
