"""Shardings of arrays whose dimensions have an order of their own in memory.

An order is a part of the sharding, so that everything which finds, keeps or compiles a program by the
shardings of its arguments does so by their order, too. That matters: the runtime below compares sizes only,
and reads an array in another order than its program was compiled for as other numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ShardingError
from rabbet.runtime.arrays.sharding import EverywhereSharding, Sharding, SingleDeviceSharding
from rabbet.runtime.platforms.device_groups import device_group

if TYPE_CHECKING:
    import numpy as np

    from rabbet.runtime.platforms.devices import Device
    from rabbet.typing import Value


class OrderedSharding(Sharding):
    """Another sharding, with the dimensions of each device's part in this order, those with the largest steps
    first; ``in_order`` makes it.

    Example:
      >>> from rabbet.extend.sharding import OrderedSharding, in_order
      >>> by_columns = in_order(rb.device_put(np.ones((2, 3))).sharding, (1, 0))
      >>> assert type(by_columns) is OrderedSharding
      >>> by_columns.order, by_columns.attributes(2).rpartition(", ")[2]
      ((1, 0), 'mhlo.layout_mode = "{0,1}"')
    """

    __slots__ = ("by_rows", "order", "public")
    by_rows: Sharding
    order: tuple
    public: Sharding

    def __init__(self, public: Sharding, order: tuple[int, ...]) -> None:
        self.public, self.order = public, tuple(order)
        one = public.is_plain
        self.by_rows = EverywhereSharding(device_group(public.device_order)) if one else public

    other_memory = property(lambda self: self.by_rows.other_memory, doc="Another memory than the usual one.")
    device_order = property(lambda self: self.by_rows.device_order, doc="The devices, in their order.")

    def tiles(self, ndim: int) -> tuple[tuple[int, ...] | np.ndarray, ...]:
        """As without an order."""
        return self.by_rows.tiles(ndim)

    def like(self, counts: Any, parts: Any) -> Any:
        """One by rows: results have no order that nobody asked for."""
        return self.by_rows.like(counts, parts)

    def attributes(self, ndim: int) -> str:
        """Those without an order, and the order from the smallest steps to the largest."""
        self.check_order(ndim)
        order = ",".join(map(str, reversed(self.order)))
        return f'{self.by_rows.attributes(ndim)}, mhlo.layout_mode = "{{{order}}}"'

    def in_types(self, ndim: int) -> Any:
        """As without an order."""
        return self.by_rows.in_types(ndim)

    def asked(self, aval: Any) -> Any:
        """As without an order."""
        return self.by_rows.asked(aval)

    def constrain(self, x: Value) -> Value:
        """A traced value has no memory, so only its parts are asked for."""
        return x if type(self.by_rows) is EverywhereSharding else self.by_rows.constrain(x)

    def check(self, shape: Any) -> None:
        """Refuse a shape that cannot be cut into equal parts, or has another number of dimensions."""
        self.check_order(len(shape))
        self.by_rows.check(shape)

    def check_order(self, ndim: int) -> None:
        """Refuse a number of dimensions that the order is not for.

        Raises:
          ShardingError: names both.
        """
        if ndim != len(self.order):
            raise ShardingError(
                f"the layout {self.order} orders {len(self.order)} dimensions, and the array has {ndim}; "
                "give one for arrays of this number of dimensions, or leave it out"
            )

    def of_one_device(self, device: Device) -> Sharding:
        """How the part that one device has lies there."""
        return OrderedSharding(SingleDeviceSharding(device), self.order)

    def __eq__(self, other: Any) -> bool:
        return type(other) is OrderedSharding and (self.order, self.public) == (other.order, other.public)

    def __hash__(self) -> int:
        return hash((self.order, self.public))

    def __repr__(self) -> str:
        return f"{self.public} with the dimensions in the order {self.order}"


def in_order(sharding: Sharding, order: tuple[int, ...]) -> Any:
    """A sharding with the dimensions in this order in memory; the sharding itself for that by rows.

    Raises:
      ShardingError: for what is not a permutation of the dimensions.

    Example:
      >>> from rabbet.extend.sharding import in_order
      >>> here = rb.device_put(np.ones((2, 3))).sharding
      >>> in_order(here, (0, 1)) is here
      True
    """
    order = tuple(order)
    if sorted(order) != list(range(len(order))):
        raise ShardingError(f"a layout must name each dimension once, from 0 on, got {order}")
    if order == tuple(range(len(order))):
        return sharding
    return OrderedSharding(sharding, order)


__all__ = ["OrderedSharding", "in_order"]
