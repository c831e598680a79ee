"""Everything for derivative rules of one's own: what ``rb.custom_jvp`` and ``rb.custom_vjp`` belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet_autodiff.closure_conversion import closure_convert
from rabbet_autodiff.custom import custom_gradient, custom_jvp, custom_vjp
from rabbet_autodiff.linear_calls import linear_call
from rabbet_autodiff.user_rules import CustomVJPPrimal, SymbolicZero

from rabbet.extend.functions import public_module
from rabbet.extend.primitive import full_of_type, tangent_aval
from rabbet.extend.transform import typeof
from rabbet.tree import map as tree_map

if TYPE_CHECKING:
    from rabbet.typing import Value

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp",
    "custom_vjp_primal_tree_values", "linear_call", "zero_from_primal",
]  # fmt: skip


def custom_vjp_primal_tree_values(
    tree: Any,
) -> tuple[Value | dict[Any, Any], ...]:
    """The argument of a forward rule with ``symbolic_zeros=True`` as it was passed: each ``CustomVJPPrimal``
    replaced by its value.

    Example:
      >>> from rabbet.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values
      >>> custom_vjp_primal_tree_values({"w": CustomVJPPrimal(2.0, True), "b": CustomVJPPrimal(1.0, False)})
      {'b': 1.0, 'w': 2.0}
    """
    return tree_map(lambda leaf: leaf.value, tree, is_leaf=lambda x: type(x) is CustomVJPPrimal)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> SymbolicZero | Value:
    """The zero tangent of an array: zeros of its type (float0 for integers), or a ``SymbolicZero``. Of a
    pytree, that of each leaf.

    Example:
      >>> from rabbet.custom_derivatives import zero_from_primal
      >>> zero_from_primal(rnp.ones(2))
      Array([0., 0.], dtype=float32)
    """

    def zero(x: Any) -> SymbolicZero | Value:
        aval = tangent_aval(typeof(x))
        return SymbolicZero(aval) if symbolic_zeros else full_of_type(aval, 0)

    return tree_map(zero, val)


public_module(globals())
