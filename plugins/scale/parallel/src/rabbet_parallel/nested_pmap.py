"""A ``pmap`` within the function of another one.

The outermost ``pmap`` has the devices: a mesh with an axis for its own examples, and one for each ``pmap``
within. Which these are shows when the function is traced: an inner ``pmap`` that finds no axis of its own
says so by ``NeedsAxis``, and the outermost begins anew with a mesh that has one. Along that axis devices hold
the same values, until the inner ``pmap`` gives each of them its example, and after it has put the results
together again.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.extend.functions import array_or_tracer


class NeedsAxis(BaseException):
    """An inner ``pmap`` needs an axis of the mesh. It never leaves the outermost one."""

    def __init__(self, name: Any, size: Any) -> None:
        super().__init__(name, size)
        self.axis = name, size


class Around(threading.local):
    """The functions of ``pmap`` that are being traced on this thread.

    Attributes:
      mesh: that of the outermost one, or None.
      names: the axes along which they map, from the outermost to the innermost.
    """

    mesh: Any = None
    names: tuple = ()

    @contextlib.contextmanager
    def function(self, name: Any, mesh: Any = None) -> Iterator[Any]:
        """While the function of one is traced, which maps along the axis ``name``."""
        before = self.mesh, self.names
        self.mesh, self.names = before[0] if mesh is None else mesh, (*before[1], name)
        try:
            yield
        finally:
            self.mesh, self.names = before


around = Around()


def axis_for(who: Any, name: Any, size: Any) -> Any:
    """The axis along which an inner ``pmap`` maps; ``name`` is None where it has none.

    Raises:
      NeedsAxis: where the mesh has none for it. ShardingError: for a name that is in use.
    """
    wanted = f"_pmap{len(around.names)}_{size}" if name is None else name
    if wanted in around.names:
        raise ShardingError(f"{who}: the axis {wanted!r} is that of a pmap around it; give it another name")
    there = around.mesh.shape
    if wanted not in there:
        raise NeedsAxis(wanted, size)
    if there[wanted] != size:
        raise ShardingError(
            f"{who}: {size} examples along {wanted!r}, and another pmap beside it has {there[wanted]} along "
            "an axis of that name; give it another one"
        )
    return wanted


def example(name: Any, x: Any, place: Any) -> Any:
    """This device's example, of a value that all along the axis have; None: all of it is the same."""
    if place is None:
        return x
    return lax.dynamic_index_in_dim(x, lax.axis_index(name), place, keepdims=False)


def together(name: Any, x: Any, place: Any) -> Any:
    """The results of all examples, in all devices along the axis; None: that of the first one."""
    found = lax.all_gather(array_or_tracer(x), name, axis=place or 0)
    return lax.index_in_dim(found, 0, 0, keepdims=False) if place is None else found


__all__ = ["NeedsAxis", "around", "axis_for", "example", "together"]
