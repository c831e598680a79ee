"""What rules of the standard tables must return: the contracts that ``rules.contracts`` asks while checks are
on.

Each is ``(op, payloads, out) -> what is wrong, or None``. Types are compared by shape and dtype; a Python
number stands for any type that it can adopt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.program import python_scalars
from rabbet.rules.contracts import described
from rabbet.rules.payloads import Batched, Dual, Linear, Zero, tangent_aval
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    import numpy as np

    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import Value


def type_or_none(value: Value) -> Any:
    """The type of an array, or None of what is none."""
    try:
        return typeof(value)
    except (TypeError, ValueError):
        return None


def same(have: ShapedArray, wanted: ShapedArray) -> bool:
    """Whether two types have one shape and dtype."""
    return have.shape == wanted.shape and have.dtype == wanted.dtype


def result_types(op: Op, values: list[Batched | Value], of: Callable[..., Any] = typeof) -> Any:
    """The types that the shape rule gives for operands; None where it cannot be asked."""
    try:
        return op.outs(tuple(python_scalars.operand_avals(op, values, of)))
    except AttributeError:  # an operator of a transformation's own
        return None


def as_list(op: Op, out: Any, types: tuple[ShapedArray, ...], payload: str) -> Any:
    """The results as a list, or what is wrong with their number."""
    if not op.primitive.multiple_results:
        return [out], None
    if type(out) not in (list, tuple) or (types is not None and len(out) != len(types)):
        count = "" if types is None else f" {len(types)}"
        return None, f"returned {described(out)}; expected is a list of{count} {payload}"
    return list(out), None


def of_jvp(op: Any, duals: Any, out: Any) -> Any:
    """Values of the primitive's types, with tangents of the values' tangent types."""
    types = result_types(op, [d.primal for d in duals])
    outs, problem = as_list(op, out, types, "Dual(primal, tangent)")
    if problem is not None:
        return problem
    for i, dual in enumerate(outs):
        which = f" for result {i}" if len(outs) > 1 else ""
        if type(dual) is not Dual:
            of = "" if types is None else f" of type {types[i].str_short()}"
            return f"returned {described(dual)}{which}; expected is Dual(primal, tangent){of}"
        have = type_or_none(dual.primal)
        if have is None:
            return f"returned {described(dual.primal)} as the primal{which}; expected is an array"
        if (
            types is not None
            and not python_scalars.is_python_scalar(dual.primal)
            and not same(have, types[i])
        ):
            return f"returned a primal of type {have.str_short()}{which}; expected is {types[i].str_short()}"
        wanted = tangent_aval(have if types is None else types[i])
        if type(dual.tangent) is Zero:
            if dual.tangent.aval.shape != wanted.shape:
                shown = dual.tangent.aval.str_short()
                return f"returned the tangent Zero({shown}){which}; expected is {wanted.str_short()}"
            continue
        moved = type_or_none(dual.tangent)
        if moved is None:
            return (
                f"returned {described(dual.tangent)} as the tangent{which}; expected is {wanted.str_short()}"
            )
        if not python_scalars.is_python_scalar(dual.tangent) and not same(moved, wanted):
            return f"returned a tangent of type {moved.str_short()}{which}; expected is {wanted.str_short()}"
    return None


def unbatched(b: Batched) -> ShapedArray:
    """The type of one example of a ``Batched``; of a bare number its own."""
    if type(b) is not Batched:
        return typeof(b)
    aval = typeof(b.value)
    return aval if b.axis is None else aval.update(shape=aval.shape[: b.axis] + aval.shape[b.axis + 1 :])


def of_batch(op: Any, operands: Any, out: Any) -> Any:
    """Values that have the primitive's types along an axis of the batch's size."""
    bare = [b.value if python_scalars.is_python_scalar(b.value) else b for b in operands]
    types = result_types(op, bare, unbatched)
    sizes = [typeof(b.value).shape[b.axis] for b in operands if b.axis is not None]
    outs, problem = as_list(op, out, types, "Batched(value, axis)")
    if problem is not None:
        return problem
    for i, b in enumerate(outs):
        which = f" for result {i}" if len(outs) > 1 else ""
        if type(b) is not Batched:
            of = "" if types is None else f" whose examples are {types[i].str_short()}"
            return f"returned {described(b)}{which}; expected is Batched(value, axis){of}"
        have = type_or_none(b.value)
        if have is None:
            return f"returned {described(b.value)} as the value{which}; expected is an array"
        if b.axis is not None and not (type(b.axis) is int and 0 <= b.axis < have.ndim):
            return f"returned the axis {b.axis!r}{which} for a value of type {have.str_short()}"
        if b.axis is not None and sizes and have.shape[b.axis] != sizes[0]:
            return (
                f"returned {have.str_short()} with the batch along axis {b.axis}{which}, which has size "
                f"{have.shape[b.axis]}; the batch has size {sizes[0]}"
            )
        if types is not None and not python_scalars.is_python_scalar(b.value):
            example = unbatched(b)
            if not same(example, types[i]):
                return (
                    f"returned {have.str_short()} with the batch along axis {b.axis}{which}, so examples are "
                    f"{example.str_short()}; expected are {types[i].str_short()}"
                )
    return None


def of_transpose(op: Op, payloads: tuple[Any, ...], out: tuple[Value | None, ...] | np.ndarray) -> str | None:
    """A cotangent of each linear operand's type, and None for the others."""
    operands = payloads[1:]
    if type(out) not in (list, tuple) or len(out) != len(operands):
        return f"returned {described(out)}; expected is a tuple of {len(operands)}, one for each operand"
    for i, (x, ct) in enumerate(zip(operands, out, strict=True)):
        if type(x) is not Linear or ct is None or type(ct) is Zero:
            continue
        have, wanted = type_or_none(ct), tangent_aval(x.aval)
        if have is None:
            return (
                f"returned {described(ct)} for operand {i}; expected is a cotangent of {wanted.str_short()}"
            )
        fits = not wanted.shape if python_scalars.is_python_scalar(ct) else same(have, wanted)
        if not fits:
            return (
                f"returned a cotangent of type {have.str_short()} for operand {i}; expected is "
                f"{wanted.str_short()}"
            )
    return None


def of_lower(op: Site, names: tuple[str, ...], out: list[str] | str) -> str | None:
    """The name of a StableHLO value for each result."""
    wanted = op.out_avals
    outs = [out] if isinstance(out, str) else out
    shown = ", ".join([a.mlir for a in wanted])
    if type(outs) not in (list, tuple) or not all(isinstance(name, str) for name in outs):
        return f"returned {described(out)}; expected are names of StableHLO values of types {shown}"
    if len(outs) != len(wanted):
        return f"returned {len(outs)} names; expected are {len(wanted)}, of types {shown}"
    for name, aval in zip(outs, wanted, strict=True):
        written = op.type_written(name)
        if written is not None and written != aval.mlir:
            return f"returned {name}, which is written as {written}; expected is {aval.mlir}"
    return None


def decomposed_types(op: Op, args: tuple[Value, ...], out: list[Value] | Value) -> Any:
    """``(types of the results or None, types of the shape rule)`` of a decomposition."""
    wanted = op.outs(tuple(python_scalars.operand_avals(op, args, typeof)))
    several = op.primitive.multiple_results
    if several and type(out) not in (list, tuple):
        return None, wanted
    have = [type_or_none(x) for x in (out if several else [out])]
    return (None if None in have or len(have) != len(wanted) else have), wanted


__all__ = ["decomposed_types", "of_batch", "of_jvp", "of_lower", "of_transpose"]
