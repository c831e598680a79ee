"""What a type may say of devices: ``ShapedArray.spread`` is None, or an object of a package.

Core knows nothing of its meaning. It asks it for the types of results, and to bring a value to a type where
types that differ in nothing else meet: a cotangent and its variable, a loop's first value and what its
body returns.

Objects of different classes speak of different things, and a type may say several of them: ``Several`` holds
one object of each class. Who asks for one class uses ``part_of``, and ``with_part`` leaves the others alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.program.interned import Alive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.primitives.memory_spaces import InMemory
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op

_alive = Alive()


class OverDevices:
    """Base of what types say of devices. A subclass is interned (equal ones are one object) and hashable.

    Example:
      >>> from rabbet.extend.primitive import ShapedArray
      >>> from rabbet.extend.sharding import OverDevices
      >>> class Marked(OverDevices):
      ...     def results(self, op, avals, outs):
      ...         return tuple([out.update(spread=self) for out in outs])
      >>> marked = ShapedArray((3,), "float32", spread=Marked())
      >>> lax.sin.op().out((marked,)) is marked, marked.bare.spread
      (True, None)
    """

    __slots__ = ()
    # The memory in which values of the type lie; None: this says nothing of it.
    memory: str | None = None
    # Names of axes along which devices compute by themselves: see ``ManualAxisType``.
    varying: Any = frozenset()
    unreduced: Any = frozenset()
    reduced: Any = frozenset()

    def results(self, op: Op, avals: Sequence[ShapedArray], outs: Any) -> Any:
        """The types of an operation's results, of which at least one operand has such a type.

        Args:
          op: the operator.
          avals: the types of its operands; the ``spread`` of some may be None.
          outs: the types of its results as its shape rule gives them, for operands whose ``spread`` is None;
            of a primitive with bodies for the operands as they are.

        Returns:
          the types of the results.
        """
        raise NotImplementedError(f"{type(self).__name__} must type results: define results")

    def stands_for(self, other: Any) -> Any:
        """Whether a value of such a type may stand where one is expected whose type says ``other`` (or None)
        in this regard, so that nothing but its place changes.
        """
        return True

    def fitted(self, x: Any, aval: ShapedArray) -> Any:
        """``x`` as a value of type ``aval``, whose ``spread`` is this one where it has any; else that of
        ``x`` is.
        """
        raise NotImplementedError(f"{type(self).__name__} must bring values to types: define fitted")

    def entered(self, x: Any, aval: ShapedArray) -> Any:
        """As ``fitted``, for the first value of a loop whose body returns values of type ``aval``: what may
        not stand in one operation with those may not become one of them either.
        """
        return self.fitted(x, aval)

    def joined(self, other: Any) -> Any:
        """What covers this one and another, or None."""
        raise NotImplementedError(f"{type(self).__name__} must join types: define joined")

    def cotangent(self) -> Any:
        """What the types of cotangents say, or None."""
        return self

    def of_sums(self) -> Any:
        """What the type of a number says that is a sum along the same axes, or None."""
        return self if self.unreduced else None

    def hidden(self, x: Any) -> Any:
        """``x`` for those who lay results out themselves: rules that transpose, and functions that were told
        ``out_sharding``.
        """
        return x

    def revealed(self, x: Any, aval: ShapedArray) -> Any:
        """``x``, computed of values that were ``hidden``, where its type is ``aval``, as others lie."""
        return x

    def of_shape(self, old: Any, new: Any) -> Any:
        """What a type says that differs in its shape."""
        return self

    def without(self, axis: Any) -> Any:
        """What a type says that has one dimension less."""
        return self

    def text(self, aval: ShapedArray) -> None:
        """How the compiler is told that a value of this type lies so: the text of a sharding, or None."""
        return

    def sharding(self, aval: ShapedArray) -> None:
        """What ``aval.sharding`` is."""
        return

    def dimensions(self, shape: Any) -> Any:
        """How the short form of a type writes its dimensions, which may be words already."""
        return shape

    def before(self) -> Any:
        """What the short form of a type has between its dtype and its dimensions."""
        return ""

    def behind(self) -> Any:
        """What the short form of a type has behind its dimensions."""
        return str(self)

    def shown(self, dtype: Any, shape: Any) -> Any:
        """The short form of a type."""
        return f"{dtype}{self.before()}[{','.join(map(str, self.dimensions(shape)))}]{self.behind()}"


class Several(OverDevices):
    """What a type says of devices in several regards: one object of each class."""

    __slots__ = ("parts", "__weakref__")
    parts: tuple

    def __new__(cls, parts: Any) -> Any:
        made = _alive.get(parts)
        if made is None:
            made = object.__new__(cls)
            made.parts = parts
            made = _alive.only(parts, made)
        return made

    def hidden(self, x: Any) -> Any:
        """``x`` for those who lay results out themselves."""
        for part in self.parts:
            x = part.hidden(x)
        return x

    def revealed(self, x: Any, aval: ShapedArray) -> Any:
        """``x`` as each part has it."""
        for part in self.parts:
            x = part.revealed(x, aval)
        return x

    def cotangent(self) -> Any:
        """Each part's, of cotangents."""
        return _together([part.cotangent() for part in self.parts])

    def of_sums(self) -> Any:
        """Each part's, of a number that is a sum along the same axes."""
        return _together([part.of_sums() for part in self.parts])

    def of_shape(self, old: Any, new: Any) -> Any:
        """Each part's, of a type that differs in its shape."""
        return _together([part.of_shape(old, new) for part in self.parts])

    def without(self, axis: Any) -> Any:
        """Each part's, of a type that has one dimension less."""
        return _together([part.without(axis) for part in self.parts])

    def text(self, aval: ShapedArray) -> Any:
        """That of the part that has one."""
        return next(filter(None, [part.text(aval) for part in self.parts]), None)

    def sharding(self, aval: ShapedArray) -> Any:
        """That of the part that has one."""
        return next(filter(None, [part.sharding(aval) for part in self.parts]), None)

    def dimensions(self, shape: Any) -> Any:
        """With the words of each part."""
        for part in self.parts:
            shape = part.dimensions(shape)
        return shape

    @property
    def memory(self) -> Any:  # type: ignore[override]
        """That of the part that has one."""
        return next(filter(None, [part.memory for part in self.parts]), None)

    @property
    def varying(self) -> Any:  # type: ignore[override]
        """The axes that any part names."""
        return frozenset().union(*[part.varying for part in self.parts])

    @property
    def unreduced(self) -> Any:  # type: ignore[override]
        """The axes that any part names."""
        return frozenset().union(*[part.unreduced for part in self.parts])

    @property
    def reduced(self) -> Any:  # type: ignore[override]
        """The axes that any part names."""
        return frozenset().union(*[part.reduced for part in self.parts])

    def before(self) -> Any:
        """What each part says there."""
        return "".join([part.before() for part in self.parts])

    def behind(self) -> Any:
        """What each part says there."""
        return "".join([part.behind() for part in self.parts])

    def __repr__(self) -> str:
        return " ".join(map(repr, self.parts))

    def __reduce__(self) -> Any:
        return Several, (self.parts,)


def parts_of(spread: Any) -> dict[Any, Any]:
    """What a type says of devices, by the class that says it."""
    if spread is None:
        return {}
    return {type(part): part for part in (spread.parts if type(spread) is Several else (spread,))}


def memory_of(aval: ShapedArray) -> Any:
    """The memory in which values of a type lie: its name, or None for the one that devices use unless they
    are told otherwise.
    """
    return None if aval.spread is None else aval.spread.memory


def _together(parts: Any) -> Any:
    found = sorted([part for part in parts if part is not None], key=lambda part: type(part).__name__)
    return None if not found else found[0] if len(found) == 1 else Several(tuple(found))


def part_of(spread: Any, kind: type) -> Any:
    """What a type says of devices in one regard: an object of the class ``kind``, or None.

    Example:
      >>> from rabbet.extend.sharding import part_of
      >>> print(part_of(rb.typeof(np.ones(3)).spread, object))
      None
    """
    if type(spread) is kind:
        return spread
    return parts_of(spread).get(kind) if type(spread) is Several else None


def with_part(spread: Any, kind: type, part: InMemory | None) -> InMemory | None:
    """What a type says of devices, with ``part`` in the place of what it says in the regard of ``kind``; with
    None it says nothing there.

    Example:
      >>> from rabbet.extend.sharding import OverDevices, with_part
      >>> class One(OverDevices): pass
      >>> class Other(OverDevices): pass
      >>> both = with_part(One(), Other, Other())
      >>> [type(part).__name__ for part in both.parts], type(with_part(both, Other, None)).__name__
      (['One', 'Other'], 'One')
    """
    if spread is None or type(spread) is kind:
        return part
    return _together([*[p for k, p in parts_of(spread).items() if k is not kind], part])


def results_over(
    op: Op, avals: tuple[ShapedArray, ...], outs: tuple[ShapedArray, ...]
) -> tuple[ShapedArray, ...]:
    """The types of an operation's results, ``outs`` as its shape rule gives them, by what those of its
    operands say of devices.
    """
    for part in {kind: p for a in avals for kind, p in parts_of(a.spread).items()}.values():
        outs = part.results(op, avals, outs)
    return outs


def fitted_over(x: Any, have: Any, aval: ShapedArray, entering: bool = False) -> Any:
    """``x``, whose type says ``have`` of devices, as a value of type ``aval``; with ``entering`` it becomes a
    loop's first value.

    Example:
      >>> from rabbet.extend.sharding import fitted_over
      >>> x = rb.device_put(np.ones(3, np.float32))
      >>> fitted_over(x, None, rb.typeof(x)) is x
      True
    """
    own, wanted = parts_of(have), parts_of(aval.spread)
    for kind, part in {**own, **wanted}.items():
        if own.get(kind) is not wanted.get(kind):
            x = part.entered(x, aval) if entering else part.fitted(x, aval)
    return x


def stands_for(aval: ShapedArray, other: Any) -> Any:
    """Whether a value of type ``aval`` may stand where ``other`` is expected: see ``OverDevices``."""
    own, wanted = parts_of(aval.spread), parts_of(other.spread)
    if any(part.unreduced and kind not in own for kind, part in wanted.items()):
        return False
    return all(part.stands_for(wanted.get(kind)) for kind, part in own.items())


def joined_over(one: Any, other: Any) -> Any:
    """What covers two words of types on devices, each of which may be None."""
    if one is other or other is None:
        return one
    if one is None:
        return other
    left, right = parts_of(one), parts_of(other)
    return _together([part.joined(right.get(kind)) for kind, part in {**right, **left}.items()])


__all__ = [
    "OverDevices", "Several", "fitted_over", "joined_over", "memory_of", "part_of", "results_over",
    "stands_for", "with_part",
]  # fmt: skip
