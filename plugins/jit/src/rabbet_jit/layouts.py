"""How the dimensions of arrays lie in a device's memory, and what compiled programs say of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from rabbet import tree
from rabbet.errors import ShardingError


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
    where a sharding is asked for. Arrays lie by rows in this version, so a layout of another order is refused
    there.

    Example:
      >>> from rabbet.experimental.layout import Format, Layout
      >>> x = rb.device_put(np.ones((2, 3), np.float32))
      >>> rb.device_put(x, Format(Layout((0, 1)), x.sharding)).shape
      (2, 3)
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Layout | AutoLayout | None = None, sharding: Any = None):
        if not (layout is None or isinstance(layout, Layout | AutoLayout)):
            raise TypeError(f"Format takes a Layout, Layout.AUTO or None, got {layout!r:.60}")
        self.layout, self.sharding = layout, sharding

    def __sharding__(self, name: str) -> Any:
        """The sharding, for those who place arrays."""
        check_row_major(self.layout, name)
        return self.sharding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and (self.layout, self.sharding) == (other.layout, other.sharding)

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"


def check_row_major(layout: Layout | AutoLayout | None, who: str) -> None:
    """Refuse a layout that arrays do not have here."""
    if layout is None or isinstance(layout, AutoLayout):
        return
    if tuple(layout.major_to_minor) != tuple(range(len(layout.major_to_minor))):
        raise ShardingError(
            f"{who}: arrays lie by rows in this version, got {layout}\n  to fix: leave the layout out; "
            "within a compiled program the compiler chooses the order that suits it"
        )


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """``x``, a pytree of arrays, which lie by rows.

    Args:
      x: a pytree of arrays.
      layouts: a ``Layout``, or a prefix of ``x`` with these and None.

    Raises:
      ShardingError: for a layout that is not by rows. ValueError: for one of another number of dimensions.

    Example:
      >>> from rabbet.experimental.layout import Layout, with_layout_constraint
      >>> with_layout_constraint(rnp.ones((2, 3)), Layout((0, 1))).shape
      (2, 3)
    """
    is_layout = lambda node: node is None or isinstance(node, Layout | AutoLayout)
    names = ("with_layout_constraint: layouts", "x")
    given = tree.broadcast_prefix(layouts, x, is_layout, names=names)
    for leaf, layout in zip(tree.leaves(x), given, strict=True):
        if isinstance(layout, AutoLayout):
            raise ValueError("with_layout_constraint: Layout.AUTO constrains nothing; it is for jit")
        if layout is not None and len(layout.major_to_minor) != leaf.ndim:
            raise ValueError(
                f"with_layout_constraint: {layout} is for {len(layout.major_to_minor)} dimensions, and the "
                f"array has {leaf.ndim}"
            )
        check_row_major(layout, "with_layout_constraint")
    return x


def formats(raw_layouts: Any, shardings: list, avals: list) -> list[Format]:
    """The ``Format`` of each argument or result of the types ``avals``; None among jaxlib's layouts stands
    for one that the program does not use.
    """
    found = []
    for raw, sharding, aval in zip(raw_layouts, shardings, avals, strict=True):
        order = tuple(range(aval.ndim))
        if raw is not None:
            order = tuple(reversed(raw._xla_layout().minor_to_major()))
        found.append(Format(Layout(order), sharding))
    return found


__all__ = ["Format", "Layout", "formats", "with_layout_constraint"]
