"""Values that differ between the members of an axis, as their types say: within ``shard_map``.

A type lists the axes along which the members may hold different values; along the others they hold the
same. An operation's result differs where an operand does; ``psum`` and its like unite members; ``pvary`` says
of a value that it may differ. That is what derivatives need: a value that all members share gets the sum of
their cotangents.

Two more words say what a value is to its derivatives. *Unreduced*: each member holds an addend, and the value
is their sum (``psum`` adds up). *Reduced*: all members hold the same, and its cotangent is unreduced. The
cotangent of an unreduced value is reduced. So gradients of what is reduced can be added up over many steps
before anything is sent.
"""

from typing import NamedTuple

import numpy as np
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.extend.passes import bodies_of
from rabbet.extend.primitive import Batched, Primitive, full_of_type
from rabbet.extend.sharding import Alive, OverDevices, fitted_over, part_of, with_part
from rabbet.extend.transform import bound_axes, typeof

from rabbet_collectives import addends
from rabbet_collectives.reductions import axis_index, psum

_alive = Alive()


class Varying(OverDevices):
    """The axes along which values may differ, along which they are sums not added up yet, and along which
    their gradients should be: pairs of a name and a size.

    Example:
      >>> from rabbet_collectives.varying import Varying
      >>> Varying([("x", 4)]) is Varying([("x", 4)]), Varying([("x", 4)], sums=[("y", 2)])
      (True, {V:x, U:y})
    """

    __slots__ = ("axes", "names", "reduced", "said", "sums", "unreduced", "__weakref__")
    axes: frozenset
    names: frozenset
    sums: frozenset
    said: frozenset
    unreduced: frozenset
    reduced: frozenset
    varying = property(lambda self: self.names)

    def __new__(cls, axes, sums=(), said=()):
        key = frozenset(axes), frozenset(sums), frozenset(said)
        made = _alive.get(key)
        if made is None:
            made = object.__new__(cls)
            made.axes, made.sums, made.said = key
            made.names, made.unreduced, made.reduced = [frozenset([n for n, _ in part]) for part in key]
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
        if "addends" in op.primitive.rules or any(sums_of(a) or said_of(a) for a in avals):
            return with_sums(op, avals, outs, found)
        return tuple([with_axes(out, axes) for out, axes in zip(outs, found, strict=True)])

    def cotangent(self):
        """Of what cotangents' types say: unreduced and reduced change places."""
        return Varying(self.axes, self.said, self.sums) if self.sums or self.said else self

    def fitted(self, x, aval):
        """A sum along the axes that the type has not; said to differ along those that ``x`` has not."""
        return as_type(x, aval)

    def stands_for(self, other):
        """Where members may differ along as many axes, else they would be added up; a sum for a sum."""
        other = PLAIN if other is None else other
        return self.axes <= other.axes and self.sums == other.sums and self.said <= other.said | other.axes

    def joined(self, other):
        """Along the axes of either."""
        other = PLAIN if other is None else other
        if self.sums != other.sums:
            raise ShardingError(
                f"one value is {self} and the other {other if other is not PLAIN else 'added up'}; a loop or "
                "a choice has both\n  to fix: add up with lax.psum, or make both sums with lax.pcast"
            )
        axes = self.axes | other.axes
        return Varying(axes, self.sums, (self.said | other.said) - axes)

    def __repr__(self):
        shown = []
        for word, names in (("V", self.names), ("U", self.unreduced), ("R", self.reduced)):
            text = ",".join(sorted(map(str, names)))
            if names:
                shown.append(f"{word}:({text})" if len(names) > 1 else f"{word}:{text}")
        return f"{{{', '.join(shown)}}}"

    def __reduce__(self):
        return Varying, (tuple(self.axes), tuple(self.sums), tuple(self.said))


NOWHERE: frozenset = frozenset()
PLAIN = Varying(())


def axes_of(aval):
    """Pairs of the names and sizes of the axes along which a value of this type may differ."""
    own = part_of(aval.spread, Varying)
    return NOWHERE if own is None else own.axes


def sums_of(aval):
    """Pairs of the names and sizes of the axes along which values of this type are sums not added up yet."""
    own = part_of(aval.spread, Varying)
    return NOWHERE if own is None else own.sums


def said_of(aval):
    """Pairs of the names and sizes of the axes along which values of this type are said to be added up."""
    own = part_of(aval.spread, Varying)
    return NOWHERE if own is None else own.said


def with_axes(aval, axes, sums=NOWHERE, said=NOWHERE):
    """The type with these axes."""
    part = Varying(axes, sums, said) if axes or sums or said else None
    return aval.update(spread=with_part(aval.spread, Varying, part))


def with_sums(op, avals, outs, found):
    """The types of results, which differ as ``found`` says, of operands of which some are sums or said to be
    added up.
    """
    primitive = op.primitive
    rule = primitive.rules.get("addends")
    if "body" in primitive.kinds or primitive.place is not None:  # typed by their own rules
        own = [(sums_of(out), said_of(out)) for out in outs]
        found = [axes - sums - said for axes, (sums, said) in zip(found, own, strict=True)]
    elif rule is not None:
        own = [rule(op, *avals)] * len(outs)
    elif primitive.axis is not None:
        own = [of_communication(op, avals)] * len(outs)
    else:
        names = sorted({str(n) for a in avals for n, _ in sums_of(a)})
        fix = addends.WITHIN.format(*names[:1]) if names else ""
        own = [addends.of_results(op, avals, sums_of, said_of, fix)] * len(outs)
    made = []
    for out, axes, (sums, said) in zip(outs, found, own, strict=True):
        if both := axes & sums:
            name = sorted(str(n) for n, _ in both)[0]
            fix = addends.WITHIN.format(name)
            raise addends.refused(op, avals, f"another differs between devices along {name!r}", fix)
        made.append(with_axes(out, axes, sums, said - axes))
    return tuple(made)


def of_communication(op, avals):
    """Of a collective: what it is along other axes than its own, as of any operation."""
    named = op.params[op.primitive.axis]
    named = named if type(named) is tuple else (named,)
    for a in avals:
        refuse_sums(a, named, op.primitive.name)
    if any(sums_of(a) for a in avals) and "linear" not in op.primitive.kinds:
        raise addends.refused(op, avals, "it is not linear", "add up before, lax.psum")
    return NOWHERE.union(*map(sums_of, avals)), NOWHERE.union(*map(said_of, avals))


def refuse_sums(aval, names, who):
    """Refuse a value that is unreduced or reduced along one of the axes."""
    for kind, pairs in (("sum", sums_of(aval)), ("said", said_of(aval))):
        for name, _ in pairs:
            if name in names:
                raise ShardingError(
                    f"{who} along {name!r} of {aval.str_short()}: " + addends.WHY[kind].format(name)
                )


def as_type(x, aval):
    """``x`` with the same value along each axis, as the type has it: added up, made the first addend of a
    sum, or only said to be what it is.
    """
    wanted = dict(_by_kind(aval))
    for kind, pairs in _by_kind(typeof(x)):
        for pair in sorted(pairs - wanted[kind], key=str):
            into = next((k for k in wanted if pair in wanted[k]), "invarying")
            if kind == "unreduced" or (kind == "varying" and into != "unreduced"):
                x = psum(x, axis=pair[0], size=pair[1], groups=None)
            elif into != "unreduced":
                x = cast(x, axes=(pair,), to=into)
    for kind, pairs in wanted.items():
        missing = pairs - dict(_by_kind(typeof(x)))[kind]
        if missing and kind == "unreduced":
            for pair in sorted(missing, key=str):
                x = first_addend(x, pair)
        if missing and kind != "varying":
            x = cast(x, axes=tuple(sorted(missing, key=str)), to=kind)
        elif missing:
            x = pvary(x, axes=tuple(sorted(missing, key=str)))
    return x


def _by_kind(aval):
    return (("varying", axes_of(aval)), ("unreduced", sums_of(aval)), ("reduced", said_of(aval)))


def first_addend(x, pair):
    """What all members share, on the first one, and zeros on the others; what differs, as it is."""
    if pair in axes_of(typeof(x)):
        return x
    x = cast(x, axes=(pair,), to="varying")
    name, size = pair
    first = lax.eq(varied(axis_index(axis=name, size=size), [pair]), np.int32(0))
    return lax.select(lax.broadcast(first, typeof(x).shape), x, full_of_type(typeof(x), 0))


def is_sum(aval, name):
    """Whether values of this type are sums not added up yet along an axis."""
    own = part_of(aval.spread, Varying)
    return own is not None and name in own.unreduced


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


# ----------------------------------------------------------------------------------------------- cast
def cast_type(x, *, axes, to):
    if to == "varying":
        return with_axes(x, frozenset(axes))
    return with_axes(x, NOWHERE, *((axes, NOWHERE) if to == "unreduced" else (NOWHERE, axes)))


cast = Primitive(
    "cast", cast_type, kinds=("linear", "structural"),
    doc="the operand, said to be varying, invarying, unreduced or reduced along axes",
)  # fmt: skip


@cast.rule("varying")
def varying_cast(op, axes):
    named = frozenset(op.params["axes"])
    return [axes | named if op.params["to"] == "varying" else axes - named]


@cast.rule("addends")
def addends_cast(op, x):
    named, to = frozenset(op.params["axes"]), op.params["to"]
    sums, said = sums_of(x) - named, said_of(x) - named
    return (sums | named if to == "unreduced" else sums), (said | named if to == "reduced" else said)


@cast.rule("lower")
def lower_cast(op, x):
    return x


@cast.rule("transpose")
def transpose_cast(op, ct, x):
    return (ct,)  # who adds it to the operand's cotangents brings it to the type that these have


@cast.rule("batch")
def batch_cast(op, x):
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


def varied(x, pairs, who="communication"):
    """``x`` as a value that may differ along those of the axes of which types speak."""
    own = typeof(x)
    missing = [pair for pair in pairs if is_typed(pair[0]) and not differs(own, pair[0])]
    refuse_sums(own, [name for name, _ in missing], who)
    return pvary(x, axes=tuple(missing)) if missing else x


__all__ = [
    "MARKS", "OfDevices", "Typed", "Varying", "axes_of", "axes_of_devices", "cast", "differs", "fit",
    "is_of_devices", "is_sum", "is_typed", "of_communication", "pvary", "refuse_sums", "said_of", "sums_of",
    "varied", "with_axes",
]  # fmt: skip
