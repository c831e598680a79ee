"""How the dimensions of arrays lie in a device's memory, and what compiled programs say of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rabbet import device_put, tree
from rabbet.errors import ShardingError
from rabbet.extend.functions import to_array
from rabbet.extend.shapes import whole_number
from rabbet.extend.sharding import Sharding, SingleDeviceSharding, as_place, in_order
from rabbet.extend.transform import is_tracer, typeof

from rabbet_jit.layout_constraint import layout_constraint


class AutoLayout:
    """What ``Layout.AUTO`` is: any order will do. It is that by rows in this version."""

    def __repr__(self) -> str:
        return "AutoLayout"

    def __reduce__(self) -> str:
        return "AUTO"  # there is one


AUTO = AutoLayout()


class _Fields(NamedTuple):
    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None
    sub_byte_element_size_in_bits: int


class Layout(_Fields):
    """The order of an array's dimensions in memory. ``Layout.AUTO``, in a ``Format`` for ``jit``, leaves it
    open; ``input_formats`` and ``output_formats`` of what was compiled say which it is.

    Args:
      major_to_minor: the dimensions, that with the largest steps first: ``(0, 1)`` is a matrix by rows.
      tiling: the sizes of tiles, where the platform has these; else None.
      sub_byte_element_size_in_bits: of elements smaller than a byte, where the platform packs them; else 0.

    Raises:
      TypeError: for fields that are no sequences of integers.

    Example:
      >>> from rabbet.experimental.layout import Layout
      >>> Layout((1, 0)).major_to_minor
      (1, 0)
    """

    __slots__ = ()

    def __new__(
        cls,
        major_to_minor: Sequence[int],
        tiling: Sequence[Sequence[int]] | None = None,
        sub_byte_element_size_in_bits: int = 0,
    ) -> Layout:
        order = _integers("major_to_minor", major_to_minor)
        if tiling is not None:
            _refuse_unless_sequence("tiling", tiling)
            tiling = tuple([_integers("a tile", tile) for tile in tiling])
        return super().__new__(cls, order, tiling, sub_byte_element_size_in_bits)

    @classmethod
    def for_array(cls, x: Any) -> Layout:
        """How an array lies.

        Example:
          >>> from rabbet.experimental.layout import Layout
          >>> Layout.for_array(rnp.ones((2, 3))).major_to_minor
          (0, 1)
        """
        return cls(order_of(to_array(x)))

    @classmethod
    def from_pjrt_layout(cls, pjrt_layout: Any) -> Layout:
        """The order that one of jaxlib's layouts tells, as those of ``runtime_executable()``."""
        return cls(tuple(reversed(pjrt_layout._xla_layout().minor_to_major())))

    def update(self, **changes: Any) -> Layout:
        """With other fields.

        Raises:
          ValueError: for a name that is no field.
        """
        unknown = sorted(changes.keys() - set(self._fields))
        if unknown:
            raise ValueError(f"Layout.update: {unknown[0]!r} is no field of a layout; {self._fields} are")
        return Layout(**{**self._asdict(), **changes})

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Refuse a shape that this is no layout of.

        Raises:
          ValueError: for another number of dimensions, or a layout that does not name each of them once.
        """
        compatible(self, len(aval_shape))


def _refuse_unless_sequence(what: str, given: Any) -> None:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"Layout: {what} must be a sequence, such as (0, 1), got {given!r:.60}")


def _integers(what: str, given: Any) -> tuple[int, ...]:
    _refuse_unless_sequence(what, given)
    return tuple([whole_number("Layout", f"an element of {what}", n) for n in given])


Layout.AUTO = AUTO  # type: ignore[attr-defined]  # a tuple's class takes no attribute in its body


class Format:
    """How an array lies: a ``Layout``, ``Layout.AUTO`` or None, and a ``Sharding``, or None. It may stand
    where a sharding is asked for, with ``Layout.AUTO`` only in ``in_shardings`` and ``out_shardings`` of
    ``jit``; a layout that is not by rows needs a sharding beside it.

    Raises:
      TypeError: for a layout or a sharding that is none.
      ValueError: with ``Layout.AUTO``, where something is placed.

    Example:
      >>> from rabbet.experimental.layout import Format, Layout
      >>> x = rb.device_put(np.ones((2, 3), np.float32))
      >>> by_columns = rb.device_put(x, Format(Layout((1, 0)), x.sharding))
      >>> by_columns.format.layout.major_to_minor, (by_columns + 1).format.layout.major_to_minor
      ((1, 0), (0, 1))
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Layout | AutoLayout | None = None, sharding: Any = None) -> None:
        if not (layout is None or isinstance(layout, Layout | AutoLayout)):
            raise TypeError(f"Format takes a Layout, Layout.AUTO or None, got {layout!r:.60}")
        if not hasattr(type(sharding), "__sharding__"):  # as a spec, whose mesh may not be set yet
            as_place(sharding, "Format: sharding")
        self.layout, self.sharding = layout, sharding

    def __sharding__(self, name: str) -> Any:
        """The sharding, for those who place arrays; with the order of the dimensions, where there is one."""
        if isinstance(self.layout, AutoLayout):
            raise ValueError(
                f"{name}: {self} leaves the layout open, which only in_shardings and out_shardings of jit "
                "may\n  to fix: give a Layout, or the sharding alone"
            )
        if self.layout is None:
            return self.sharding
        order = tuple(self.layout.major_to_minor)
        check_tiles(self.layout, name)
        if self.sharding is None:
            if order == tuple(range(len(order))):
                return None
            raise ShardingError(
                f"{name}: {self} has a layout and no sharding; give both, as in Format(layout, x.sharding)"
            )
        place = as_place(self.sharding, name)
        return in_order(place if isinstance(place, Sharding) else SingleDeviceSharding(place), order)

    def open_for_jit(self) -> Any:
        """What ``jit`` is asked for: the sharding alone, where the layout is ``Layout.AUTO``."""
        return self.sharding if isinstance(self.layout, AutoLayout) else self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and (self.layout, self.sharding) == (other.layout, other.sharding)

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"


def check_tiles(layout: Layout, who: str) -> None:
    """Refuse a layout with tiles or packed elements, which the platform decides."""
    if layout.tiling or layout.sub_byte_element_size_in_bits:
        raise ShardingError(
            f"{who}: tiles and packed elements are the platform's to choose, got {layout}\n  to fix: give "
            "the order of the dimensions alone"
        )


def format_of(x: Any) -> Format:
    """``x.format``: how an array lies in memory."""
    return Format(Layout(order_of(x)), x.sharding)


def order_of(x: Any) -> tuple[int, ...]:
    """The dimensions of an array as they lie in memory, those with the largest steps first."""
    sharding = x.spec.layout
    return tuple(range(x.ndim)) if sharding is None or sharding.order is None else sharding.order


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """``x``, a pytree of arrays, laid out in memory in another order. Within a traced function the compiler
    is told to lay the value so; results of the function lie by rows all the same, unless ``out_shardings``
    names a ``Format``. With jaxlib 0.10 the compiler is not told in programs that are cut up over devices: it
    would gather the value. Derivatives lie in the order of their values. Values are the same in any order.

    Args:
      x: a pytree of arrays.
      layouts: a ``Layout``, or a prefix of ``x`` with these and None.

    Raises:
      ValueError: for a layout of another number of dimensions, one that does not name each dimension once,
        and ``Layout.AUTO``.
      ShardingError: for tiles and packed elements, which the platform chooses.
      TypeError: for typed keys within a traced function, whose order cannot be chosen.

    Example:
      >>> from rabbet.experimental.layout import Layout, with_layout_constraint
      >>> with_layout_constraint(rnp.ones((2, 3)), Layout((1, 0))).format.layout.major_to_minor
      (1, 0)
    """
    who = "with_layout_constraint"
    is_layout = lambda node: node is None or isinstance(node, Layout | AutoLayout)
    given = tree.broadcast_prefix(layouts, x, is_layout, names=(f"{who}: layouts", "x"))
    leaves, structure = tree.flatten(x)
    for leaf, layout in zip(leaves, given, strict=True):
        if isinstance(layout, AutoLayout):
            raise ValueError(f"{who}: Layout.AUTO constrains nothing; it is for jit")
        if layout is not None:
            compatible(layout, typeof(leaf).ndim, f"{who}: ")
            check_tiles(layout, who)
    return structure.unflatten([_in_layout(*each) for each in zip(leaves, given, strict=True)])


def compatible(layout: Layout, ndim: int, who: str = "") -> None:
    """Refuse a layout for another number of dimensions, or one that does not name each of them once."""
    order = tuple(layout.major_to_minor)
    if len(order) != ndim:
        raise ValueError(f"{who}{layout} is for {len(order)} dimensions, and the array has {ndim}")
    if sorted(order) != list(range(ndim)):
        raise ValueError(f"{who}{layout} does not name each of the {ndim} dimensions of the array once")


def _in_layout(x: Any, layout: Layout | None) -> Any:
    if layout is None:
        return x
    order = tuple(layout.major_to_minor)
    if is_tracer(x):
        if typeof(x).is_extended:
            raise TypeError(
                f"with_layout_constraint: the order of {typeof(x).str_short()} cannot be chosen\n  to fix: "
                "leave None in its place"
            )
        return layout_constraint(x, order=order) if len(order) > 1 else x
    x = to_array(x)
    return x if order_of(x) == order else device_put(x, Format(layout, x.sharding))


def formats(raw_layouts: Any, shardings: list, avals: Sequence[Any]) -> list[Format]:
    """The ``Format`` of each argument or result of the types ``avals``; None among jaxlib's layouts stands
    for one that the program does not use.
    """
    found = []
    for raw, sharding, aval in zip(raw_layouts, shardings, avals, strict=True):
        order = tuple(range(aval.ndim))
        if raw is not None:
            order = Layout.from_pjrt_layout(raw).major_to_minor
        found.append(Format(Layout(order), sharding.public))
    return found


__all__ = ["Format", "Layout", "formats", "with_layout_constraint"]
