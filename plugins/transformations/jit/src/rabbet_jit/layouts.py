"""How the dimensions of arrays lie in a device's memory, and what compiled programs say of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rabbet import device_put, tree
from rabbet.errors import ShardingError
from rabbet.extend.functions import to_array
from rabbet.extend.sharding import Sharding, SingleDeviceSharding, as_place, in_order
from rabbet.extend.transform import is_tracer


class AutoLayout:
    """What ``Layout.AUTO`` is: any order will do. It is that by rows in this version."""

    def __repr__(self) -> str:
        return "AutoLayout"

    def __reduce__(self) -> str:
        return "AUTO"  # there is one


AUTO = AutoLayout()


class Layout(NamedTuple):
    """The order of an array's dimensions in memory. ``Layout.AUTO``, in a ``Format`` for ``jit``, leaves it
    open; ``input_formats`` and ``output_formats`` of what was compiled say which it is.

    Args:
      major_to_minor: the dimensions, that with the largest steps first: ``(0, 1)`` is a matrix by rows.
      tiling: the sizes of tiles, where the platform has these; else None.
      sub_byte_element_size_in_bits: of elements smaller than a byte, where the platform packs them; else 0.

    Example:
      >>> from rabbet.experimental.layout import Layout
      >>> Layout((1, 0)).major_to_minor
      (1, 0)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


Layout.AUTO = AUTO  # type: ignore[attr-defined]  # a tuple's class takes no attribute in its body


class Format:
    """How an array lies: a ``Layout``, ``Layout.AUTO`` or None, and a ``Sharding``, or None. It may stand
    where a sharding is asked for; a layout that is not by rows needs a sharding beside it.

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
        self.layout, self.sharding = layout, sharding

    def __sharding__(self, name: str) -> Any:
        """The sharding, for those who place arrays; with the order of the dimensions, where there is one."""
        if self.layout is None or isinstance(self.layout, AutoLayout):
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
    """``x``, a pytree of arrays, laid out in memory in another order. Within a traced function values have no
    order that programs could see, and the compiler chooses: there it changes nothing.

    Args:
      x: a pytree of arrays.
      layouts: a ``Layout``, or a prefix of ``x`` with these and None.

    Raises:
      ValueError: for a layout of another number of dimensions.

    Example:
      >>> from rabbet.experimental.layout import Layout, with_layout_constraint
      >>> with_layout_constraint(rnp.ones((2, 3)), Layout((1, 0))).format.layout.major_to_minor
      (1, 0)
    """
    is_layout = lambda node: node is None or isinstance(node, Layout | AutoLayout)
    names = ("with_layout_constraint: layouts", "x")
    given = tree.broadcast_prefix(layouts, x, is_layout, names=names)
    leaves, structure = tree.flatten(x)
    for leaf, layout in zip(leaves, given, strict=True):
        if isinstance(layout, AutoLayout):
            raise ValueError("with_layout_constraint: Layout.AUTO constrains nothing; it is for jit")
        if layout is not None and len(layout.major_to_minor) != leaf.ndim:
            raise ValueError(
                f"with_layout_constraint: {layout} is for {len(layout.major_to_minor)} dimensions, and the "
                f"array has {leaf.ndim}"
            )
    return structure.unflatten([_in_layout(*each) for each in zip(leaves, given, strict=True)])


def _in_layout(x: Any, layout: Layout | None) -> Any:
    if layout is None or is_tracer(x):
        return x
    x = to_array(x)
    return x if order_of(x) == tuple(layout.major_to_minor) else device_put(x, Format(layout, x.sharding))


def formats(raw_layouts: Any, shardings: list, avals: Sequence[Any]) -> list[Format]:
    """The ``Format`` of each argument or result of the types ``avals``; None among jaxlib's layouts stands
    for one that the program does not use.
    """
    found = []
    for raw, sharding, aval in zip(raw_layouts, shardings, avals, strict=True):
        order = tuple(range(aval.ndim))
        if raw is not None:
            order = tuple(reversed(raw._xla_layout().minor_to_major()))
        found.append(Format(Layout(order), sharding.public))
    return found


__all__ = ["Format", "Layout", "formats", "with_layout_constraint"]
