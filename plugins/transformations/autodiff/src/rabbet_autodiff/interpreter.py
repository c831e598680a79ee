"""Forward mode: the payload is a ``Dual``, a value and its tangent.

Rules run on the level below, so a tangent may itself be a tracer: of an outer forward mode (second
derivatives), or of the recorder (reverse mode). A result whose tangent is known to be zero goes on as a
plain value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.extend.primitive import Dual, Zero, instantiate, zero_tangent
from rabbet.extend.transform import Interpreter, jvp, typeof

if TYPE_CHECKING:
    from rabbet.extend.primitive import ShapedArray
    from rabbet.typing import Value


class Forward(Interpreter):
    """Payload: ``Dual(primal, tangent)``. A constant has the symbolic zero as its tangent."""

    __slots__ = ()
    table = jvp
    lifts_typed = False

    def lift(self, value: Any) -> Any:
        return Dual(value, zero_tangent(typeof(value)))

    def type_of(self, dual: Dual) -> ShapedArray:
        return typeof(dual.primal)

    def wrap(self, dual: Dual) -> Any:
        return dual.primal if type(dual.tangent) is Zero else super().wrap(dual)

    def join(self, a: Any, b: Any) -> Any:
        """A tangent if either side has one."""
        return Dual(a.primal, b.tangent if type(a.tangent) is Zero else a.tangent)

    def force(self, dual: Dual, like: Dual) -> Dual:
        """Zeros in place of the symbolic zero."""
        return Dual(dual.primal, dual.tangent if type(like.tangent) is Zero else instantiate(dual.tangent))

    def concrete(self, dual: Dual) -> Value:
        """The value, for Python control flow: differentiation happens where values are known."""
        return dual.primal

    def describe(self) -> str:
        return "differentiation" + super().describe().removeprefix("Forward")
