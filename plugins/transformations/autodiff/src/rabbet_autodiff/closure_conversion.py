"""Functions taken apart so that they can be handed on: ``closure_convert`` and ``fwd_and_bwd``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import rabbet
from rabbet import dtypes, tree
from rabbet.extend.functions import array_or_tracer, convert_leaves, describe_value, folded
from rabbet.extend.passes import evaluate, stage
from rabbet.extend.transform import is_tracer, typeof

from rabbet_autodiff import checks
from rabbet_autodiff.api import vjp
from rabbet_autodiff.functions import Flat, StandIn, of_chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import Value

    from rabbet_autodiff.api import Pullback


@folded
def closure_convert(
    fun: Callable[..., Any], *example_args: Value
) -> tuple[Callable[..., Any] | list[Any], ...]:
    """Make the values that a function closes over, and that may be differentiated, its arguments.

    Args:
      fun: takes and returns pytrees of arrays.
      example_args: arguments, for their structure and types.

    Returns:
      ``(converted, consts)``: ``converted(*args, *consts)`` is ``fun(*args)``; ``consts`` is the list of
      floating point values of transformations around it that ``fun`` closes over.

    Example:
      >>> def minimize(objective, x0):
      ...     converted, consts = closure_convert(objective, x0)
      ...     return _minimize(converted, x0, *consts)     # a custom_vjp function
    """
    checks.function("closure_convert", fun)
    leaves, in_tree = tree.flatten(example_args)
    avals = [typeof(x) for x in leaves]
    flat = Flat(fun, in_tree)
    program, captured = stage(flat, avals, getattr(fun, "__name__", "converted"))
    hoisted = [is_tracer(c) and dtypes.issubdtype(typeof(c).dtype, dtypes.inexact) for c in captured]
    consts = [c for c, h in zip(captured, hoisted, strict=True) if h]
    # The converted function outlives the transformations around it where a rule keeps it: it holds neither
    # what was hoisted nor `fun`, which closes over that.
    staying = [None if h else c for c, h in zip(captured, hoisted, strict=True)]
    count, out_tree = len(example_args), flat.out_tree
    named: Any = StandIn(fun)

    def converted_fun(*args: Value | dict[Any, Any]) -> Value | dict[Any, Any]:
        if len(args) != count + sum(hoisted):
            raise TypeError(
                f"the closure-converted {named.described} takes {count} arguments and the "
                f"{sum(hoisted)} values that were hoisted out of it, got {len(args)}"
            )
        given, structure = tree.flatten(tuple(args[:count]))
        checks.same_structure(
            "closure_convert", named, structure, in_tree, ("the arguments", "the example arguments")
        )
        given = convert_leaves(
            array_or_tracer, given, lambda i, x: f"an argument is not an array: {describe_value(x)}"
        )
        checks.same_types(
            "closure_convert", named, [typeof(x).strong() for x in given], [a.strong() for a in avals],
            lambda i: f"array number {i} of the arguments",
        )  # fmt: skip
        more = iter(args[count:])
        values = [array_or_tracer(next(more)) if h else c for c, h in zip(staying, hoisted, strict=True)]
        return tree.unflatten(out_tree, evaluate(program, given, values))

    converted = functools.wraps(fun)(converted_fun)
    vars(converted).pop("__wrapped__", None)
    vars(converted)["described"] = named.described
    return converted, consts


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], ...]:
    """The forward and the backward pass of a function as two functions, each compiled once.

    Args:
      fun: takes and returns pytrees of arrays.
      argnums: an int or a sequence of ints: which positional arguments to differentiate.
      has_aux: whether ``fun`` returns a pair (output, auxiliary results).
      jitted: compile both, which takes the package rabbet-jit.

    Returns:
      ``(fwd, bwd)``: ``fwd(*args)`` returns ``(out, residuals)``, with ``has_aux`` also the auxiliary
      results; ``bwd(residuals, cotangent)`` returns the cotangents of the chosen arguments, a tuple where
      ``argnums`` is a sequence.

    Example:
      >>> fwd, bwd = rb.fwd_and_bwd(lambda x, w: x @ w, argnums=(0, 1))
      >>> y, residuals = fwd(rnp.array([1.0, 2.0]), rnp.array([3.0, 4.0]))
      >>> bwd(residuals, 1.0)
      (Array([3., 4.], dtype=float32), Array([1., 2.], dtype=float32))
    """
    checks.function("fwd_and_bwd", fun)
    compiled = rabbet.jit if jitted else None  # of another package: said before anything is computed

    @functools.wraps(fun)
    def fwd(*args: Value) -> tuple[Pullback | Value, ...]:
        numbers = checks.as_tuple(argnums, fun, len(args), "fwd_and_bwd")
        chosen = of_chosen(fun, args, {}, numbers)
        return vjp(chosen, *[args[n] for n in numbers], has_aux=has_aux)

    def bwd(residuals: Pullback, cotangent: Value) -> tuple[Value, ...] | Value:
        cotangents = residuals(cotangent)
        return cotangents[0] if isinstance(argnums, int) else cotangents

    return (compiled(fwd), compiled(bwd)) if compiled else (fwd, bwd)


__all__ = ["closure_convert", "fwd_and_bwd"]
