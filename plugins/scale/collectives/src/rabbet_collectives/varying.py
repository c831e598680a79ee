"""Values that differ between the members of an axis, as their types say: within ``shard_map``.

A type lists the axes along which the members may hold different values; along the others they hold the
same. An operation's result differs where an operand does; ``psum`` and its like unite members; ``pvary`` says
of a value that it may differ. That is what derivatives need: a value that all members share gets the sum of
their cotangents.
"""

from typing import NamedTuple

from rabbet.extend.passes import bodies_of
from rabbet.extend.primitive import Batched, Primitive
from rabbet.extend.sharding import Alive, OverDevices, fitted_over, part_of, with_part
from rabbet.extend.transform import bound_axes, typeof

from rabbet_collectives.reductions import psum

_alive = Alive()


class Varying(OverDevices):
    """The axes along which values may differ: pairs of a name and a size.

    Example:
      >>> from rabbet_collectives.varying import Varying
      >>> Varying([("x", 4)]) is Varying([("x", 4)]), Varying([("x", 4)])
      (True, {V:x})
    """

    __slots__ = ("axes", "names", "__weakref__")
    axes: frozenset
    names: frozenset
    varying = property(lambda self: self.names)

    def __new__(cls, axes):
        key = frozenset(axes)
        made = _alive.get(key)
        if made is None:
            made = object.__new__(cls)
            made.axes, made.names = key, frozenset([name for name, _ in key])
            made = _alive.only(key, made)
        return made

    def results(self, op, avals, outs):
        """Along all axes of the operands, and as the primitive's rule ``varying`` has it."""
        ins = [axes_of(a) for a in avals]
        rule = op.primitive.rules.get("varying")
        if rule is not None:
            found = rule(op, *ins)
        elif "body" in op.primitive.kinds:
            found = of_bodies(op, avals, ins, outs)
        else:
            found = [NOWHERE.union(*ins)] * len(outs)
        return tuple([with_axes(out, axes) for out, axes in zip(outs, found, strict=True)])

    def fitted(self, x, aval):
        """A sum along the axes that the type has not; said to differ along those that ``x`` has not."""
        have, want = axes_of(typeof(x)), axes_of(aval)
        for name, size in sorted(have - want, key=str):
            x = psum(x, axis=name, size=size, groups=None)
        missing = want - have
        return pvary(x, axes=tuple(sorted(missing, key=str))) if missing else x

    def stands_for(self, other):
        """Where members may differ along as many axes: else they would be added up."""
        return self.axes <= (NOWHERE if other is None else other.axes)

    def joined(self, other):
        """Along the axes of either."""
        return self if other is None else Varying(self.axes | other.axes)

    def __repr__(self):
        names = ",".join(sorted(map(str, self.names)))
        return f"{{V:({names})}}" if len(self.names) > 1 else f"{{V:{names}}}"

    def __reduce__(self):
        return Varying, (tuple(self.axes),)


NOWHERE: frozenset = frozenset()


def axes_of(aval):
    """Pairs of the names and sizes of the axes along which a value of this type may differ."""
    own = part_of(aval.spread, Varying)
    return NOWHERE if own is None else own.axes


def with_axes(aval, axes):
    """The type with these axes."""
    return aval.update(spread=with_part(aval.spread, Varying, Varying(axes) if axes else None))


def differs(aval, name):
    """Whether values of this type may differ along an axis."""
    own = part_of(aval.spread, Varying)
    return own is not None and name in own.names


def of_bodies(op, avals, ins, outs):
    """Of a primitive that carries programs: what these return, whose own types have been found."""
    together = NOWHERE.union(*ins)
    bodies = [body for _, body in bodies_of(op)]
    decided = ins[:1] if op.primitive.decider is not None else []
    operands = avals[len(decided) :]
    if not all(len(b.outvars) == len(outs) and len(b.invars) == len(operands) for b in bodies):
        return [together] * len(outs)
    more = NOWHERE.union(*decided)
    for body in bodies:
        for aval, own in zip(operands, body.in_avals, strict=True):
            more |= axes_of(aval) - axes_of(own)
    # A loop that takes no step returns its first values, whose types the shape rule has.
    own = [[axes_of(aval) for aval in body.out_avals] for body in bodies]
    return [more.union(axes_of(out), *[axes[i] for axes in own]) for i, out in enumerate(outs)]


def fit(x, aval):
    """``x`` as a value of type ``aval``, which differs from its own at most in what it says of devices."""
    return fitted_over(x, typeof(x).spread, aval)


# ---------------------------------------------------------------------------------------------- pvary
def pvary_type(x, *, axes):
    return with_axes(x, axes_of(x) | frozenset(axes))


pvary = Primitive(
    "pvary", pvary_type, kinds=("linear", "structural"),
    doc="the operand, said to differ between the members of axes",
)  # fmt: skip


@pvary.rule("varying")
def varying_pvary(op, axes):
    return [axes | frozenset(op.params["axes"])]


@pvary.rule("lower")
def lower_pvary(op, x):
    return x


@pvary.rule("transpose")
def transpose_pvary(op, ct, x):
    return (ct,)  # who adds it to the operand's cotangents sums it as the operand's type asks


@pvary.rule("batch")
def batch_pvary(op, x):
    return Batched(op(x.value), x.axis)


# ----------------------------------------------------------------------------------- where types say so
class Typed(NamedTuple):
    """Bound beside the name of an axis where types say along which axes values differ."""

    name: object


class OfDevices(NamedTuple):
    """Bound beside the name of an axis whose members are devices."""

    name: object
    of: str = "devices"  # so that it is not equal to the other mark, which is a tuple of a name, too


MARKS = (Typed, OfDevices)


def axes_of_devices(axes, typed):
    """What to bind (``bind_axes``) for axes whose members are devices: pairs of a name and a size.
    ``typed``: types say along which of them values differ.
    """
    kinds = MARKS if typed else (OfDevices,)
    return [*axes, *[(kind(name), size) for kind in kinds for name, size in axes]]


def is_typed(name):
    """Whether types speak of the axis of this name here."""
    return _is_marked(name, Typed(name))


def is_of_devices(name):
    """Whether the members of the axis of this name are devices here."""
    return _is_marked(name, OfDevices(name))


def _is_marked(name, mark):
    """Whether a mark was bound with the last axis of a name, or behind it."""
    names = [known for known, _ in bound_axes()]
    if mark not in names or name not in names:
        return False
    return names.index(mark) > len(names) - 1 - names[::-1].index(name)


def varied(x, pairs):
    """``x`` as a value that may differ along those of the axes of which types speak."""
    missing = [pair for pair in pairs if is_typed(pair[0]) and not differs(typeof(x), pair[0])]
    return pvary(x, axes=tuple(missing)) if missing else x


__all__ = [
    "MARKS", "OfDevices", "Typed", "Varying", "axes_of", "axes_of_devices", "differs", "fit", "is_of_devices",
    "is_typed", "pvary", "varied", "with_axes",
]  # fmt: skip
