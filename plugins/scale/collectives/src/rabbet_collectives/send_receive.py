"""``psend`` and ``precv``: a permutation in two halves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.extend.transform import typeof

from rabbet_collectives.functions import ppermute

if TYPE_CHECKING:
    from rabbet.typing import Value


class Sent:
    """What ``psend`` returns, for ``precv``: a pytree of the values that are on their way."""

    def __init__(self, values: Any, axis_name: Any, perm: tuple) -> None:
        self.values, self.axis_name, self.perm = values, axis_name, perm

    def __repr__(self) -> str:
        return f"Sent(axis_name={self.axis_name!r}, perm={self.perm})"


tree.register_dataclass_node(Sent, ["values"], ["axis_name", "perm"])


def psend(x: Value, axis_name: Any, perm: Any) -> Sent:
    """Send values between the members of a named axis; ``precv`` with the same ``perm`` receives them.

    Args:
      x: a pytree of arrays.
      axis_name: the axis.
      perm: pairs ``(source, destination)``, as for ``ppermute``.

    Returns:
      a token for ``precv``. The exchange is one operation, so neither half waits for the other.

    Example:
      >>> swap = [(0, 1), (1, 0)]
      >>> f = lambda x: lax.precv(lax.psend(x, "i", swap), x, "i", swap)
      >>> rb.vmap(f, axis_name="i")(rnp.array([5, 6]))
      Array([6, 5], dtype=int32)
    """
    perm = tuple([tuple(pair) for pair in perm])
    return Sent(ppermute(x, axis_name, perm), axis_name, perm)


def precv(token: Any, out_shape: Any, axis_name: Any, perm: Any) -> Value:
    """The values that ``psend`` sent here; zeros for a member that is not a destination.

    Args:
      token: what ``psend`` returned.
      out_shape: what is received: a pytree of arrays or ``ShapeDtypeStruct``s.
      axis_name, perm: those of ``psend``.

    Raises:
      TypeError: for another token. ValueError: where axis, ``perm`` or types are not those that were sent.

    Example:
      >>> to_the_next = [(0, 1), (1, 2)]
      >>> f = lambda x: lax.precv(lax.psend(x, "i", to_the_next), x, "i", to_the_next)
      >>> rb.vmap(f, axis_name="i")(rnp.array([5, 6, 7])).tolist()
      [0, 5, 6]
    """
    if not isinstance(token, Sent):
        raise TypeError(f"precv takes the token of a psend, got {type(token).__name__}")
    perm = tuple([tuple(pair) for pair in perm])
    if (token.axis_name, token.perm) != (axis_name, perm):
        raise ValueError(f"precv along {axis_name!r} with perm={perm} does not match {token}")
    kinds = lambda x: [(typeof(v).shape, typeof(v).dtype) for v in tree.leaves(x)]
    wanted = [(tuple(s.shape), s.dtype) for s in tree.leaves(out_shape)]
    if kinds(token.values) != wanted or tree.structure(token.values) != tree.structure(out_shape):
        shown = ", ".join([typeof(v).str_short() for v in tree.leaves(token.values)])
        raise ValueError(f"precv: out_shape {out_shape} is not what was sent, {shown}")
    return token.values


__all__ = ["Sent", "precv", "psend"]
