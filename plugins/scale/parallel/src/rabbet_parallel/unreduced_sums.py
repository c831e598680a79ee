"""Sums that are not added up yet, and values said to be: ``unreduced`` and ``reduced`` axes.

Along an ``unreduced`` axis of type ``Explicit`` each device may hold an addend, and the value is their sum;
``reshard`` to a spec without the axis adds up. So several addends can be summed before anything is sent.
Only what is linear goes with them: a sum of two of them, one times a value that is ``reduced`` along the
axis. ``reduced`` says of a value that it is the same on all devices along the axis, as a plain one, and that
a product with parts gives parts of the sum.

A program computes with the sums themselves, whatever the compiler leaves on the devices: values are those of
the same program without these words.
"""

from typing import Any

from rabbet.errors import ShardingError
from rabbet.extend.native import compiler_has
from rabbet.extend.sharding import Alive, OverDevices, part_of, with_part
from rabbet_collectives.addends import of_results

from rabbet_parallel.explicit_sharding import Explicit, entries_of
from rabbet_parallel.operations import operations
from rabbet_parallel.partition_spec import PartitionSpec, names_in
from rabbet_parallel.shardy_text import spec_text, unreduced_text

NOWHERE: frozenset = frozenset()
# Older compilers refuse the word; programs mean the same without it.
COMPILER_KNOWS = compiler_has("unreduced shardings")

_alive = Alive()


class Addends(OverDevices):
    """Along which axes a value is a sum not added up yet, and along which its gradient should be one.

    Args:
      mesh: an ``AbstractMesh``.
      unreduced, reduced: frozensets of its axes, of which none is in both; not both empty.
    """

    __slots__ = ("mesh", "reduced", "unreduced", "__weakref__")
    mesh: Any
    unreduced: frozenset
    reduced: frozenset

    def __new__(cls, mesh, unreduced, reduced):
        key = mesh, unreduced, reduced
        made = _alive.get(key)
        if made is None:
            made = object.__new__(cls)
            made.mesh, made.unreduced, made.reduced = key
            made = _alive.only(key, made)
        return made

    def results(self, op, avals, outs):
        """Of linear operations as their operands; of a product as the one that is a sum."""
        primitive = op.primitive
        if "body" in primitive.kinds or primitive.place is not None or "addends" in primitive.rules:
            return outs  # typed by their own rules
        sums, said = of_results(op, avals, unreduced_of, reduced_of)
        if said and "bilinear" in primitive.kinds:
            said -= frozenset([n for a in avals for n in cut_by(a)])
        return tuple([with_axes(out, self.mesh, sums, said) for out in outs])

    def cotangent(self):
        """Of what cotangents' types say: unreduced and reduced change places."""
        return Addends(self.mesh, self.reduced, self.unreduced)

    def fitted(self, x, aval):
        """Added up where the type says so, or said to be a sum."""
        return operations.as_addends(x, self.mesh, unreduced_of(aval), reduced_of(aval))

    def joined(self, other):
        """Itself: loops carry what they were given."""
        if other is self:
            return self
        raise ShardingError(
            f"a loop value is {self or 'added up'} before an iteration and {other or 'added up'} after it; "
            "make them equal with rb.reshard"
        )

    def without(self, axis):
        return self

    def text(self, aval):
        """What the compiler is told: as the axes cut it, with those along which it is a sum."""
        if not self.unreduced or not COMPILER_KNOWS:
            own = part_of(aval.spread, Explicit)
            return None if own is None else own.text(aval)
        cut = part_of(aval.spread, Explicit)
        entries = (None,) * aval.ndim if cut is None else cut.entries
        entries = (*entries, *[None] * (aval.physical.ndim - aval.ndim))
        cuts = spec_text(self.mesh, entries, bool(self.mesh.auto_axes))
        return cuts + unreduced_text(self.mesh, self.unreduced)

    def sharding(self, aval):
        """The sharding on a mesh without devices."""
        spec = PartitionSpec(*entries_of(aval), unreduced=self.unreduced, reduced=self.reduced)
        return operations.sharding_on(self.mesh, spec)

    def behind(self):
        """As JAX writes such types: ``f32[8,8]{U:x}``."""
        shown = []
        for word, axes in (("U", self.unreduced), ("R", self.reduced)):
            names = ",".join(sorted(axes))
            if axes:
                shown.append(f"{word}:({names})" if len(axes) > 1 else f"{word}:{names}")
        return f"{{{', '.join(shown)}}}"

    def __repr__(self):
        return self.behind()

    def __reduce__(self):
        return Addends, (self.mesh, self.unreduced, self.reduced)


def unreduced_of(aval):
    """The axes along which values of a type are sums not added up yet."""
    own = part_of(aval.spread, Addends)
    return NOWHERE if own is None else own.unreduced


def reduced_of(aval):
    """The axes along which values of a type are said to be added up."""
    own = part_of(aval.spread, Addends)
    return NOWHERE if own is None else own.reduced


def mesh_of_sums(aval):
    """The mesh along whose axes values of a type are sums, or said to be added up, or None."""
    own = part_of(aval.spread, Addends)
    return None if own is None else own.mesh


def cut_by(aval):
    """The explicit axes that cut a type's dimensions."""
    return [name for entry in entries_of(aval) for name in names_in(entry)]


def with_axes(aval, mesh, unreduced, reduced):
    """The type with these axes."""
    part = Addends(mesh, unreduced, reduced) if unreduced or reduced else None
    return aval.update(spread=with_part(aval.spread, Addends, part))


__all__ = ["Addends", "reduced_of", "unreduced_of", "with_axes"]
