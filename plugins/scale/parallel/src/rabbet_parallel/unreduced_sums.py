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

from rabbet import dtypes, lax
from rabbet.errors import ShardingError
from rabbet.extend import primitive as p
from rabbet.extend.native import compiler_has
from rabbet.extend.sharding import Alive, OverDevices, part_of, with_part

from rabbet_parallel.explicit_sharding import Explicit, entries_of
from rabbet_parallel.operations import operations
from rabbet_parallel.partition_spec import PartitionSpec, names_in
from rabbet_parallel.shardy_text import spec_text, unreduced_text

# Linear ones that the compiler refuses of addends; of a Fourier transform it takes whole values.
UNKNOWN = frozenset([p.real, p.imag, p.conj])
FILL = lax.GatherScatterMode.FILL_OR_DROP
NOWHERE: frozenset = frozenset()
# Moves and copies of elements, and sums of them, which say nothing of their own of kinds.
MOVING = frozenset([p.dynamic_slice, p.convert_element_type, p.select_n, p.gather])
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
        full = [a for a in avals if a.ndim or unreduced_of(a)]
        sums = {unreduced_of(a) for a in (avals if primitive is p.pad else full)}
        shared = {reduced_of(a) for a in full} or {NOWHERE}
        if sums <= {NOWHERE}:
            cut = frozenset([n for a in avals for n in cut_by(a)])
            mine = frozenset().union(*shared) - (cut if "bilinear" in primitive.kinds else NOWHERE)
            return tuple([with_axes(out, self.mesh, NOWHERE, mine) for out in outs])
        found = self.of_sums(op, avals, sums)
        return tuple([with_axes(out, self.mesh, found, NOWHERE) for out in outs])

    def of_sums(self, op, avals, sums):
        """Along which axes the results are sums, where an operand is."""
        primitive = op.primitive
        if primitive is p.mul or primitive is p.div:
            of_sum = [a for a in avals if unreduced_of(a)]
            divided = primitive is p.div
            divided = divided and (unreduced_of(avals[1]) or dtypes.kind(avals[0].dtype) not in "fc")
            if len(of_sum) == 1 and not divided:
                (axes,) = [unreduced_of(a) for a in of_sum]
                others = [a for a in avals if a is not of_sum[0]]
                if all(not a.ndim or axes <= reduced_of(a) for a in others):
                    return axes
            raise refused(op, avals, "of a product one operand may be such a sum, the others 'reduced'")
        if primitive is p.gather:
            sums = {unreduced_of(avals[0])}
            if op.params["mode"] is FILL and not is_of_addends(op.params["fill_value"], avals[0].dtype):
                raise refused(op, avals, "what it reads outside would be counted once a device")
        if primitive is p.select_n:
            sums = {unreduced_of(a) for a in avals[1:]}
        if primitive is p.convert_element_type and not is_kept_in(avals[0].dtype, op.params["new_dtype"]):
            raise refused(op, avals, "numbers of the other dtype are not sums of the converted addends")
        if primitive in UNKNOWN or primitive.name == "fft":
            raise refused(op, avals, "the compiler does not take it addend by addend")
        linear = {"linear", "structural"} & set(primitive.kinds) or primitive in MOVING
        if not linear:
            raise refused(op, avals, "it is not linear")
        if "elementwise" in primitive.kinds and primitive is not p.select_n:
            sums = {unreduced_of(a) for a in avals}  # a number, too, would be added on each device
        if len(sums) > 1:
            raise refused(op, avals, "the others are added up already, and would be counted once a device")
        return sums.pop()

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


def is_of_addends(fill, dtype):
    """Whether a sum of as many fill values as there are devices is that value: zero, or not a number."""
    return dtypes.kind(dtype) in "fc" if fill is None else not fill or fill != fill


def is_kept_in(old, new):
    """Whether a sum of numbers may be converted addend by addend: by rounding, or modulo fewer bits."""
    one, other = dtypes.kind(old), dtypes.kind(new)
    if one in "fc" or other not in "iu":
        return one in "fc" and other in "fc"
    return one in "iu" and dtypes.itemsize_bits(new) <= dtypes.itemsize_bits(old)


def refused(op, avals, why):
    """The error that says what to write."""
    shown = ", ".join([a.str_short() for a in avals])
    return ShardingError(
        f"{op.primitive.name} of {shown}: an operand is a sum that is not added up yet (unreduced), and "
        f"{why}\n  to fix: add up before, rb.reshard(x, P(...)) with a spec without unreduced"
    )


def unreduced_of(aval):
    """The axes along which values of a type are sums not added up yet."""
    own = part_of(aval.spread, Addends)
    return NOWHERE if own is None else own.unreduced


def reduced_of(aval):
    """The axes along which values of a type are said to be added up."""
    own = part_of(aval.spread, Addends)
    return NOWHERE if own is None else own.reduced


def cut_by(aval):
    """The explicit axes that cut a type's dimensions."""
    return [name for entry in entries_of(aval) for name in names_in(entry)]


def with_axes(aval, mesh, unreduced, reduced):
    """The type with these axes."""
    part = Addends(mesh, unreduced, reduced) if unreduced or reduced else None
    return aval.update(spread=with_part(aval.spread, Addends, part))


__all__ = ["Addends", "reduced_of", "unreduced_of", "with_axes"]
