"""Axes of type ``Explicit``: the types of arrays say which of them cuts which dimension.

``Explicit`` is what such a type says of devices. The types of results follow from rules, the table
``explicit``; where none says how a result lies it is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.errors import MissingRule, ShardingError
from rabbet.extend.passes import stage
from rabbet.extend.sharding import Alive, OverDevices, part_of, with_part
from rabbet.extend.transform import RuleTable
from rabbet_collectives.varying import Varying

from rabbet_parallel.operations import operations
from rabbet_parallel.partition_spec import PartitionSpec, names_in
from rabbet_parallel.shardy_text import spec_text

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op

explicit = RuleTable(
    "explicit",
    doc="""(op, *operands) -> for each result the axes that cut each dimension; operands are ``Laid``

    A rule returns a tuple of entries, as of a ``PartitionSpec``, or a list of these where the operation has
    several results; None where the rule for types has said it. It raises a ``ValueError``, which says why,
    where the result's layout does not follow from the operands'.

    Example:
      >>> from rabbet_parallel.explicit_sharding import Laid, explicit
      >>> rule = explicit.lookup(lax.exp)
      >>> rule(lax.exp.op(), Laid((8, 4), ("x", None)))
      ('x', None)
    """,
)


class Laid(NamedTuple):
    """An operand as rules see it: its shape, for each dimension the axis (or axes) that cuts it, or None, the
    sizes of the mesh's axes, and its dtype.
    """

    shape: tuple
    entries: tuple
    sizes: Mapping = MappingProxyType({})
    dtype: Any = None


class Ambiguous(ValueError):
    """Says why a rule cannot tell how a result lies."""


_alive = Alive()


class Explicit(OverDevices):
    """Which axes of type ``Explicit`` cut which dimension of an array.

    Args:
      mesh: an ``AbstractMesh``.
      entries: for each dimension an axis, a tuple of axes, or None; not all None.
    """

    __slots__ = ("entries", "mesh", "__weakref__")
    mesh: Any
    entries: tuple

    def __new__(cls, mesh: Any, entries: Any) -> Any:
        key = mesh, entries
        made = _alive.get(key)
        if made is None:
            made = object.__new__(cls)
            made.mesh, made.entries = key
            made = _alive.only(key, made)
        return made

    def results(self, op: Op, avals: Any, outs: Any) -> Any:
        """By the rule of the primitive; of one that carries programs, by these."""
        mesh = self.common_mesh(op, avals)
        if not mesh.manual_axes and any(part_of(a.spread, Varying) is not None for a in avals):
            return outs  # captured arrays lie somewhere outside of shard_map: nothing follows within
        if mesh is not self.mesh:
            return Explicit(mesh, self.entries).results(op, avals, outs)
        operands = [Laid(a.shape, along(mesh, a), mesh.shape, a.dtype) for a in avals]
        try:
            rule = explicit.lookup(op.primitive)
        except MissingRule:
            if "body" in op.primitive.kinds:
                return outs
            raise self.unclear(op, avals, "no rule gives the sharding of its result") from None
        if hasattr(rule, "parts"):
            return of_parts(op, op.primitive.decomposition, avals, outs)
        body = getattr(rule, "body", None)
        if body is not None and body is op.primitive.rules.get("body"):  # whose programs' types are found
            return outs
        try:
            found = rule(op, *operands)
            if found is None:
                return outs
            found = found if isinstance(found, list) else [found] * len(outs)
            return tuple([self.typed(out, entries) for out, entries in zip(outs, found, strict=True)])
        except ValueError as error:
            raise self.unclear(op, avals, str(error)) from None

    def common_mesh(self, op: Op, avals: Any) -> Any:
        """The mesh on which the operands lie: where devices compute by themselves along some axes it says so,
        and captured arrays, whose mesh does not, are whole along these.
        """
        meshes = {part.mesh: None for a in avals if (part := part_of(a.spread, Explicit)) is not None}
        first = max(meshes, key=lambda mesh: len(mesh.manual_axes), default=self.mesh)
        for mesh in meshes:
            if mesh.taken_apart(first.manual_axes) != first:
                raise ShardingError(
                    f"{op.primitive.name}: operands are laid out on {first} and on {mesh}; bring them to one "
                    "mesh with rb.device_put"
                )
        return self.mesh if first == self.mesh else first

    def typed(self, aval: Any, entries: Any) -> Any:
        """The type of a result that is cut so."""
        names = [n for e in entries for n in names_in(e)]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise Ambiguous(f"the axis {twice[0]!r} would cut two dimensions of the result")
        sizes = self.mesh.shape
        for i, (size, entry) in enumerate(zip(aval.shape, entries, strict=True)):
            count = parts(sizes, entry)
            if size % count:
                raise Ambiguous(
                    f"dimension {i} of the result has the size {size}, which {count} devices along {entry!r} "
                    "cannot share evenly"
                )
        return with_entries(aval, self.mesh, tuple(entries))

    def unclear(self, op: Op, avals: Any, why: Any) -> Any:
        """The error that says what to write."""
        shown = ", ".join([a.str_short() for a in avals])
        return ShardingError(
            f"{op.primitive.name} of {shown}: {why}\n  to fix: say how the result should lie with "
            "out_sharding= where the function has it; bring operands together before, rb.reshard(x, "
            "P(...)); or leave it to the compiler, rabbet.sharding.auto_axes(f, out_sharding=P(...))"
        )

    def fitted(self, x: Any, aval: Any) -> Any:
        """Laid out as the type says: where it says nothing, whole along these axes."""
        return operations.laid_out(x, self.mesh, entries_of(aval))

    def entered(self, x: Any, aval: Any) -> Any:
        """Laid out so, as an operand of the loop's body: a value of another mesh is refused."""
        return operations.laid_out(x, self.mesh, entries_of(aval), True)

    def joined(self, other: Any) -> Any:
        """Itself where the other says nothing."""
        if other is None or other is self:
            return self
        raise ShardingError(
            f"a loop value has the sharding {self} before an iteration and {other} after it; "
            "make them equal with rb.reshard"
        )

    def hidden(self, x: Any) -> Any:
        """``x`` as a value of which the type says nothing and the compiler decides."""
        return operations.hidden(x, self)

    def revealed(self, x: Any, aval: Any) -> Any:
        """A whole result on a mesh with the types of axes that others have."""
        return x if any(entries_of(aval)) else operations.revealed(x, self.mesh)

    def of_shape(self, old: Any, new: Any) -> Any:
        """For a type of another shape: with dimensions in front, or of other sizes."""
        if len(new) > len(old) and new[len(new) - len(old) :] == old:
            return Explicit(self.mesh, (*[None] * (len(new) - len(old)), *self.entries))
        if len(new) != len(old):
            return None
        sizes = self.mesh.shape
        kept = [e if n % parts(sizes, e) == 0 else None for n, e in zip(new, self.entries, strict=True)]
        return spread_of(self.mesh, tuple(kept))

    def without(self, axis: Any) -> Any:
        """For a type without a dimension."""
        return spread_of(self.mesh, self.entries[:axis] + self.entries[axis + 1 :])

    def text(self, aval: Any) -> Any:
        """What the compiler is told of a value of this type."""
        extra = aval.physical.ndim - aval.ndim
        further = bool(self.mesh.auto_axes)  # these the compiler may add
        return spec_text(self.mesh, (*self.entries, *[None] * extra), further)

    def sharding(self, aval: Any) -> Any:
        """The sharding on a mesh without devices."""
        return operations.sharding_on(self.mesh, PartitionSpec(*self.entries))

    def dimensions(self, shape: Any) -> Any:
        """As JAX writes such types: ``f32[8@x,4]``."""
        dims = []
        for size, entry in zip(shape, self.entries, strict=True):
            names = ",".join(map(str, names_in(entry)))
            over = f"({names})" if isinstance(entry, tuple) else names
            dims.append(f"{size}@{over}" if names else str(size))
        return dims

    def behind(self) -> Any:
        """Nothing: the dimensions say it."""
        return ""

    def __repr__(self) -> Any:
        return str(PartitionSpec(*self.entries))

    def __reduce__(self) -> Any:
        return Explicit, (self.mesh, self.entries)


def of_parts(op: Op, compute: Any, avals: Any, outs: Any) -> Any:
    """The types of results as those of the operations that a primitive is made of."""
    several = op.primitive.multiple_results
    program = stage(lambda *xs: compute(op, *xs) if several else [compute(op, *xs)], avals, op.primitive.name)
    return tuple([a.update(spread=v.spread) for a, v in zip(outs, program.jaxpr.out_avals, strict=True)])


def parts(sizes: Any, entry: Any) -> Any:
    """Into how many parts an entry cuts a dimension."""
    count = 1
    for name in names_in(entry):
        count *= sizes[name]
    return count


def spread_of(mesh: Any, entries: Any) -> Any:
    """What a type says where these axes cut its dimensions: nothing where none does."""
    return Explicit(mesh, entries) if any(names_in(e) for e in entries) else None


def with_entries(aval: Any, mesh: Any, entries: Any) -> Any:
    """The type, cut so by explicit axes."""
    return aval.update(spread=with_part(aval.spread, Explicit, spread_of(mesh, entries)))


def mesh_of(aval: Any) -> Any:
    """The mesh on which explicit axes cut arrays of a type, or None."""
    own = part_of(aval.spread, Explicit)
    return None if own is None else own.mesh


def entries_of(aval: Any) -> Any:
    """Which explicit axes cut the dimensions of arrays of a type."""
    own = part_of(aval.spread, Explicit)
    return (None,) * aval.ndim if own is None else own.entries


def along(mesh: Any, aval: Any) -> Any:
    """The same, without axes that are not of type ``Explicit`` in this mesh."""
    return explicit_entries(mesh, entries_of(aval)) if mesh.manual_axes else entries_of(aval)


def explicit_entries(mesh: Any, entries: Any) -> Any:
    """Entries of a spec without the axes that are not of type ``Explicit``."""
    return entries_along(mesh.explicit_axes, entries)


def entries_along(axes: Any, entries: Any) -> Any:
    """Entries of a spec with these axes only."""
    made = []
    for entry in entries:
        names = tuple([n for n in names_in(entry) if n in axes])
        made.append(None if not names else names[0] if len(names) == 1 else names)
    return tuple(made)


__all__ = [
    "Ambiguous", "Explicit", "Laid", "entries_along", "entries_of", "explicit", "explicit_entries", "mesh_of",
    "parts", "spread_of", "with_entries",
]  # fmt: skip
