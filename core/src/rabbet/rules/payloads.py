"""The payloads of the standard tables: what the rules beside each primitive receive and return.

A payload is a pytree of arrays; its treedef is its static part. So a symbolic zero is a node without
leaves, and a batch axis is part of the tree's structure, not one of its leaves.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import tree

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray


class Zero:
    """A tangent or cotangent known to be zero, of the given aval. It has no leaves.

    Example:
      >>> from rabbet.extend.primitive import Dual, Primitive, Zero
      >>> left = Primitive("left", lambda x, y: x, kinds=("elementwise",))
      >>> @left.rule("jvp")
      ... def jvp_left(op, x, y):
      ...     out = op(x.primal, y.primal)
      ...     return Dual(out, Zero(rb.typeof(out)) if type(x.tangent) is Zero else x.tangent)
      >>> jvp_left(lambda x, y: x, Dual(1.0, Zero(rb.typeof(1.0))), Dual(2.0, 1.0))
      Dual(primal=1.0, tangent=Zero(f32[]))
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


class Dual(NamedTuple):
    """A value and its tangent (``Zero`` where it has none): the payload of forward mode.

    Example:
      >>> from rabbet.extend.primitive import Dual
      >>> from rabbet.extend.transform import jvp
      >>> out = jvp.lookup(lax.mul)(lax.mul.op(), Dual(3.0, 1.0), Dual(4.0, 0.0))
      >>> float(out.primal), float(out.tangent)
      (12.0, 4.0)
    """

    primal: Any
    tangent: Any


class Batched:
    """A value with one batch dimension at ``axis``, or none where ``axis`` is None: the payload of vmap.

    Example:
      >>> from rabbet.extend.primitive import Batched
      >>> from rabbet.extend.transform import batch
      >>> rows = Batched(lax.full((2, 3), 1.0), 0)
      >>> out = batch.lookup(lax.neg)(lax.neg.op(), rows)
      >>> out.value.shape, out.axis
      ((2, 3), 0)
    """

    __slots__ = ("value", "axis")

    def __init__(self, value: Any, axis: Any) -> None:
        self.value = value
        self.axis = axis

    def __repr__(self) -> str:
        return f"Batched({self.value}, axis={self.axis})"


class Linear:
    """Stands for a linear operand while its equation is transposed; only its aval is known.

    Example:
      >>> from rabbet.extend.primitive import Linear
      >>> from rabbet.extend.transform import transpose
      >>> to_x, to_y = transpose.lookup(lax.mul)(lax.mul.op(), 2.0, Linear(rb.typeof(1.0)), 5.0)
      >>> float(to_x), to_y
      (10.0, None)
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "a function to be transposed is not linear: the value of an operand of type "
            f"{self.aval.str_short()} that depends on "
            f"its arguments is needed"
        )

    def __repr__(self) -> str:
        return f"Linear({self.aval.str_short()})"


tree.register_node(Zero, lambda zero: ((), zero.aval), lambda aval, _: Zero(aval))
tree.register_node(Batched, lambda b: ((b.value,), b.axis), lambda axis, children: Batched(children[0], axis))


@functools.lru_cache(maxsize=4096)
def tangent_aval(aval: ShapedArray) -> Any:
    """The aval of a tangent of ``aval``: the same for floating and complex dtypes, float0 for all others.

    Example:
      >>> from rabbet.extend.primitive import tangent_aval
      >>> tangent_aval(rb.typeof(np.float32(1))).str_short()
      'f32[]'
      >>> tangent_aval(rb.typeof(True)).dtype == rb.dtypes.float0
      True
    """
    return aval.to_tangent_aval()


def zero_tangent(aval: ShapedArray) -> Zero:
    """The symbolic zero tangent of a primal of type ``aval``.

    Example:
      >>> from rabbet.extend.primitive import zero_tangent
      >>> zero_tangent(rb.typeof(np.float32(1)))
      Zero(f32[])
    """
    return Zero(tangent_aval(aval))
