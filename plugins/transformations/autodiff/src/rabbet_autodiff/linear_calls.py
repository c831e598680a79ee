"""``linear_call``: a linear function whose transpose its author gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.extend.functions import (
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    folded,
    is_evaluating,
)
from rabbet.extend.passes import stage
from rabbet.extend.transform import typeof

from rabbet_autodiff import checks
from rabbet_autodiff.primitives.custom_linear import custom_linear

if TYPE_CHECKING:
    from rabbet.typing import Value


@folded
def linear_call(
    fun: Callable[..., Any],
    fun_transpose: Callable[..., Any],
    residual_args: Value,
    linear_args: Value,
) -> Value:
    """Call a linear function that brings its transpose.

    Args:
      fun: ``fun(residual_args, linear_args) -> out``, linear in ``linear_args``.
      fun_transpose: ``fun_transpose(residual_args, cotangent)``, from a cotangent like ``out`` to one like
        ``linear_args``; linear in the cotangent.
      residual_args: a pytree of arrays.
      linear_args: a pytree of arrays.

    Returns:
      ``fun(residual_args, linear_args)``. Its derivative in ``linear_args`` is the function itself, and
      reverse mode uses ``fun_transpose``, whose own transpose is ``fun``.

    Example:
      >>> double = lambda x: linear_call(lambda _, x: x + x, lambda _, ct: ct + ct, (), x)
    """
    checks.function("linear_call", fun)
    checks.function("linear_call", fun_transpose)
    if is_evaluating():
        return fun(residual_args, linear_args)
    residuals, residual_tree = tree.flatten(residual_args)
    moving, in_tree = tree.flatten(linear_args)
    residuals, moving = [array_or_tracer(x) for x in residuals], [array_or_tracer(x) for x in moving]
    n, out_tree = len(residuals), None
    # `backward` is kept with the operation: it holds types and no values.
    moving_types = [typeof(x).strong() for x in moving]

    def forward(
        known: list[Value] | tuple[Value, ...], given: list[Value] | tuple[Value, ...]
    ) -> list[Value]:
        nonlocal out_tree
        out = fun(tree.unflatten(residual_tree, list(known)), tree.unflatten(in_tree, list(given)))
        outs, out_tree = tree.flatten(out)
        return _arrays(fun, outs)

    def backward(known: list[Value], cotangents: list[Value]) -> list[Value]:
        ct = tree.unflatten(out_tree, list(cotangents))
        results = fun_transpose(tree.unflatten(residual_tree, list(known)), ct)
        leaves, structure = tree.flatten(results)
        checks.same_structure("linear_call", fun_transpose, structure, in_tree, ("the result", "linear_args"))
        leaves = _arrays(fun_transpose, leaves)
        checks.same_types(
            "linear_call", fun_transpose, [typeof(x) for x in leaves], moving_types,
            lambda i: f"number {i} of its results",
        )  # fmt: skip
        return leaves

    avals = [typeof(x) for x in (*residuals, *moving)]
    program = stage(lambda *xs: forward(xs[:n], xs[n:]), avals, getattr(fun, "__name__", "linear_call")).jaxpr
    outs = custom_linear(
        *residuals, *moving, forward=forward, backward=backward, residuals=n, moving=(True,) * len(moving),
        out_avals=program.out_avals, symbolic=False, name=describe_function(fun),
    )  # fmt: skip
    return tree.unflatten(out_tree, outs)


def _arrays(fun: Callable[..., Any], leaves: list[Value]) -> list[Value]:
    what = f"linear_call: {describe_function(fun)} must return arrays, got"
    return convert_leaves(array_or_tracer, leaves, lambda i, x: f"{what} {describe_value(x)}")


__all__ = ["linear_call"]
