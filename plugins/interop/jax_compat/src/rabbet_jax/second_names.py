"""JAX's words for what classes of Rabbet's do: what programs for JAX ask of them, and core has no use for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import ref
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.extend.transform import Interpreter, Tracer, context
from rabbet.extend.wrapping import second_names

if TYPE_CHECKING:
    from rabbet.typing import Value


def bind(self: Primitive, *args: Any, **params: Any) -> Any:
    """The same as calling it; programs among ``params`` may be closed."""
    args, params = self.open_programs(args, params)
    return self(*args, **params)


def bind_with_trace(self: Primitive, trace: Any, args: Any, *rest: Any) -> Any:
    """``bind`` with ``trace`` as the current interpreter; ``rest`` are the operands' types, which JAX gives,
    and the parameters as a dict.
    """
    outer, context.interpreter = context.interpreter, trace
    try:
        return self(*args, **rest[-1])
    finally:
        context.interpreter = outer


def get_bind_params(self: Primitive, params: Any) -> dict[str, Any]:
    """The keywords with which ``bind`` makes an equation of these parameters again."""
    return dict(params)


def lo_ty(self: ShapedArray) -> list[Any]:
    """The types of the arrays that a value of this type is made of: this one. Libraries for JAX have types of
    their own, whose values are made of several arrays, and ask all types alike.
    """
    return [self]


def lower_val(self: ShapedArray, value: Value) -> list[Value]:
    """The arrays that a value of this type is made of."""
    return [value]


def raise_val(self: ShapedArray, value: Value) -> Value:
    """The value that is made of these arrays."""
    return value


def at_least_vspace(self: ShapedArray) -> ShapedArray:
    """The type of a tangent."""
    return self.to_tangent_aval()


_trace = property(lambda self: self.interpreter, doc="The interpreter.")
main = property(lambda self: self, doc="Itself, for programs that ask a trace which one it belongs to.")

OF_VALUES: dict[str, Any] = {"lo_ty": lo_ty, "lower_val": lower_val, "raise_val": raise_val}
NAMES: dict[type, dict[str, Any]] = {
    Primitive: {
        "bind": bind, "impl": bind, "bind_with_trace": bind_with_trace, "get_bind_params": get_bind_params,
    },
    ShapedArray: {**OF_VALUES, "at_least_vspace": at_least_vspace},
    ref.AbstractRef: OF_VALUES,
    Tracer: {"_trace": _trace},
    Interpreter: {"main": main},
}  # fmt: skip


def take_second_names() -> None:
    """Let Rabbet's classes answer to JAX's words; the second time changes nothing."""
    for cls, members in NAMES.items():
        second_names(cls, members)
