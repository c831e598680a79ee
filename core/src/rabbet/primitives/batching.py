"""Moving batch dimensions about, for ``batch`` rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.primitives import layout
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.rules.payloads import Batched
    from rabbet.typing import Value


def batch_size(*batched: Batched) -> int:
    """The size of the batch dimension, from any operand that has one.

    Example:
      >>> from rabbet.extend.primitive import Batched
      >>> from rabbet.extend.rules import batch_size
      >>> batch_size(Batched(1.0, None), Batched(np.ones((2, 3)), 1))
      3
    """
    for b in batched:
        if b.axis is not None:
            return typeof(b.value).shape[b.axis]
    raise ValueError("no operand is batched")


def move_axis(x: Any, source: Any, destination: Any) -> Any:
    """``x`` with the dimension ``source`` moved to ``destination``; ``x`` itself if it is there.

    Example:
      >>> from rabbet.extend.primitive import move_axis
      >>> move_axis(np.ones((2, 3, 4)), 0, 2).shape
      (3, 4, 2)
    """
    if source == destination:
        return x
    order = [i for i in range(typeof(x).ndim) if i != source]
    order.insert(destination, source)
    return layout.transpose(x, permutation=tuple(order))


def new_axis(x: Value, axis: int, size: int) -> Value:
    """``x`` repeated along a new dimension at ``axis``.

    Example:
      >>> from rabbet.extend.primitive import new_axis
      >>> new_axis(np.ones((2, 3)), 1, 5).shape
      (2, 5, 3)
    """
    aval = typeof(x)
    full = (*aval.shape[:axis], size, *aval.shape[axis:])
    dims = tuple([i if i < axis else i + 1 for i in range(aval.ndim)])
    return layout.broadcast_in_dim(x, shape=full, broadcast_dimensions=dims)


def at_axis(b: Batched, axis: Any, size: int) -> Value:
    """The value of ``b`` with its batch dimension at ``axis``, repeated there if it has none.

    Example:
      >>> from rabbet.extend.primitive import Batched
      >>> from rabbet.extend.rules import at_axis
      >>> at_axis(Batched(np.ones((2, 3)), 1), 0, 3).shape, at_axis(Batched(np.ones(2), None), 0, 3).shape
      ((3, 2), (3, 2))
    """
    return new_axis(b.value, axis, size) if b.axis is None else move_axis(b.value, b.axis, axis)


def at_front(*batched: Batched) -> list[Value]:
    """The values of all operands with the batch dimension in front, repeated where there was none.

    Example:
      >>> from rabbet.extend.primitive import Batched
      >>> from rabbet.extend.rules import at_front
      >>> [x.shape for x in at_front(Batched(np.ones((2, 3)), 1), Batched(np.ones(2), None))]
      [(3, 2), (3, 2)]
    """
    size = batch_size(*batched)
    return [at_axis(b, 0, size) for b in batched]
