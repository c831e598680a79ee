"""Boxes at positions that the program computes: dynamic_slice, dynamic_update_slice.

Positions are one integer scalar per dimension, clamped so that the whole box lies inside the array. Batching
them makes gathers and scatters: it stands in ``dynamic_rules.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ShapeError
from rabbet.primitives import checks, zeros
from rabbet.primitives.attributes import int_list
from rabbet.rules.payloads import Dual, Linear, Zero, tangent_aval, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import Value


def _check_starts(name: str, x: ShapedArray, starts: tuple[ShapedArray, ...]) -> None:
    if len(starts) != x.ndim:
        raise ShapeError(f"{name}: {x.str_short()} needs {x.ndim} start indices, got {len(starts)}")
    for start in starts:
        if start.shape:
            raise ShapeError(f"{name}: start indices are scalars, got {start.str_short()}")
    if starts:
        checks.accept(f"{name} start indices", checks.INTEGERS, *starts)
        checks.same_dtype(f"{name} start indices", *starts)


def _check_sizes(name: str, x: ShapedArray, sizes: tuple[int, ...]) -> None:
    if len(sizes) != x.ndim or any(not 0 <= size <= n for size, n in zip(sizes, x.shape, strict=False)):
        raise ShapeError(
            f"{name}: a box of the sizes {tuple(sizes)} does not fit {x.str_short()}; it needs {x.ndim} "
            "sizes, none larger than the array's"
        )


def _starts_text(op: Site, operands: list[str], starts: tuple[str, ...]) -> tuple[str, ...]:
    """Operands and their types as ``dynamic_slice`` and its like write them."""
    types = ", ".join([a.mlir for a in op.in_avals])
    return ", ".join([*operands, *starts]), types


# ------------------------------------------------------------------------------------------ dynamic_slice
def dynamic_slice_aval(x: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]) -> ShapedArray:
    _check_starts("dynamic_slice", x, starts)
    _check_sizes("dynamic_slice", x, slice_sizes)
    return x.update(shape=tuple(slice_sizes))


dynamic_slice = Primitive(
    "dynamic_slice", dynamic_slice_aval, kinds=("indexed",), adopt=1,
    doc="a box of x at computed positions",
    parameters={"slice_sizes": "tuple of int: the shape of the result"},
)  # fmt: skip


@dynamic_slice.rule("lower")
def lower_dynamic_slice(op: Site, x: str, *starts: str) -> str:
    if not starts:
        return x
    operands, types = _starts_text(op, [x], starts)
    return op.emit(
        f"stablehlo.dynamic_slice {operands}, sizes = {int_list(op['slice_sizes'])} : "
        f"({types}) -> {op.out.mlir}"
    )


@dynamic_slice.rule("jvp")
def jvp_dynamic_slice(op: Op, x: Dual, *starts: Dual) -> Dual:
    at = [s.primal for s in starts]
    out = op(x.primal, *at)
    return Dual(out, zero_tangent(typeof(out)) if type(x.tangent) is Zero else op(x.tangent, *at))


@dynamic_slice.rule("transpose")
def transpose_dynamic_slice(op: Op, ct: Value, x: Linear, *starts: Value) -> tuple[Value | None, ...]:
    return dynamic_update_slice(zeros.full_of_type(tangent_aval(x.aval).cotangent, 0), ct, *starts), *[
        None for _ in starts
    ]


# ----------------------------------------------------------------------------------- dynamic_update_slice
def dynamic_update_slice_aval(x: ShapedArray, update: ShapedArray, *starts: ShapedArray) -> ShapedArray:
    _check_starts("dynamic_update_slice", x, starts)
    checks.same_dtype("dynamic_update_slice", x, update)
    _check_sizes("dynamic_update_slice", x, update.shape)
    return x.strong()


dynamic_update_slice = Primitive(
    "dynamic_update_slice",
    dynamic_update_slice_aval,
    kinds=("indexed", "shapeless"),
    indices=slice(2, None),
    adopt=2,
    doc="x with a box at computed positions replaced",
)


@dynamic_update_slice.rule("lower")
def lower_dynamic_update_slice(op: Site, x: str, update: str, *starts: str) -> str:
    if not starts:
        return update
    operands, types = _starts_text(op, [x, update], starts)
    return op.emit(f"stablehlo.dynamic_update_slice {operands} : ({types}) -> {op.out.mlir}")


@dynamic_update_slice.rule("jvp")
def jvp_dynamic_update_slice(op: Op, x: Any, update: Any, *starts: Any) -> Any:
    at = [s.primal for s in starts]
    out = op(x.primal, update.primal, *at)
    if type(x.tangent) is Zero and type(update.tangent) is Zero:
        return Dual(out, zero_tangent(typeof(out)))
    return Dual(out, op(zeros.instantiate(x.tangent), zeros.instantiate(update.tangent), *at))


@dynamic_update_slice.rule("transpose")
def transpose_dynamic_update_slice(op: Op, ct: Any, x: Any, update: Any, *starts: Any) -> Any:
    size = typeof(update) if type(update) is not Linear else update.aval
    of_x = of_update = None
    if type(x) is Linear:
        nothing = size.cotangent.update(dtype=typeof(ct).dtype, weak_type=False)
        of_x = op(ct, zeros.full_of_type(nothing, 0), *starts)
    if type(update) is Linear:
        of_update = dynamic_slice(ct, *starts, slice_sizes=size.shape)
    return of_x, of_update, *[None for _ in starts]


__all__ = ["dynamic_slice", "dynamic_update_slice"]
