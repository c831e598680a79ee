"""Products of arrays summed over shared dimensions: dot_general.

Its parameters are JAX's: ``dimension_numbers=((lhs_contracting, rhs_contracting), (lhs_batch,
rhs_batch))``. The result has the batch dimensions first, then what is left of the left operand, then what is
left of the right one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.errors import DTypeError, ShapeError
from rabbet.primitives import checks, convert, inlining, shape
from rabbet.primitives.attributes import int_list
from rabbet.program.avals import ShapedArray
from rabbet.rules.payloads import Batched, Linear
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.primitives.precision import Precision
    from rabbet.rules.operator import Op
    from rabbet.typing import DType, Value

BOOL = np.dtype(bool)


def dot_general_aval(
    x: ShapedArray,
    y: ShapedArray,
    dimension_numbers: tuple[tuple[tuple[Any, ...], ...], ...],
    precision: tuple[Precision, ...] | None = None,
    preferred_element_type: DType | None = None,
) -> ShapedArray:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    checks.accept("dot_general", checks.NUMBERS + "b", x, y)
    if preferred_element_type is None or not small_floats(x, y):
        checks.same_dtype("dot_general", x, y)
    checks.axes_valid("dot_general (left operand)", (*lhs_contract, *lhs_batch), x.ndim)
    checks.axes_valid("dot_general (right operand)", (*rhs_contract, *rhs_batch), y.ndim)
    algorithm = getattr(precision, "algorithm", None)
    if algorithm is not None and algorithm.lhs_precision_type == "any_f8" and not small_floats(x, y):
        raise DTypeError(
            f"dot_general with precision {precision!r} multiplies floats of 8 bits, got {x.str_short()} and "
            f"{y.str_short()}\n  to fix: convert both, or choose another precision"
        )
    _paired("contracting", x, y, lhs_contract, rhs_contract)
    _paired("batch", x, y, lhs_batch, rhs_batch)
    batch = [x.shape[d] for d in lhs_batch]
    left = [x.shape[d] for d in free(x.ndim, lhs_contract, lhs_batch)]
    right = [y.shape[d] for d in free(y.ndim, rhs_contract, rhs_batch)]
    dtype = x.dtype
    if preferred_element_type is not None:
        dtype = sums_in("dot_general", x, preferred_element_type)
    weak = x.weak_type and y.weak_type
    return ShapedArray((*batch, *left, *right), dtype, weak)


def sums_in(who: str, x: ShapedArray, preferred: Any) -> Any:
    """The dtype in which products are summed, which must be able to hold them: not narrower than the
    operands, and a number for numbers.
    """
    have, want = x.kind, dtypes.kind(preferred)
    order = "biufc"
    whole = have in "biu"
    fits = (whole and want in "iufc") or order.index(have) <= order.index(want)
    if (want == "b" and have != "b") or not fits:
        raise DTypeError(
            f"{who}: products of {x.str_short()} cannot be summed in {preferred}; convert the "
            f"result with astype"
        )
    if have != "b" and dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(x.dtype):
        raise DTypeError(
            f"{who}: preferred_element_type {preferred} is narrower than the operands, "
            f"{x.str_short()}; convert the operands before, or the result after, with astype"
        )
    return preferred


def small_floats(x: ShapedArray, y: ShapedArray) -> bool:
    """Whether both are floats of at most 8 bits, whose formats may differ: matrix units multiply one by the
    other.
    """
    return all(a.kind == "f" and dtypes.itemsize_bits(a.dtype) <= 8 for a in (x, y))


def _paired(what: str, x: ShapedArray, y: ShapedArray, lhs: tuple[int, ...], rhs: tuple[int, ...]) -> None:
    """Refuse dimension lists of which the n-th entries do not have one size."""
    shown = f"dot_general of {x.str_short()} and {y.str_short()}"
    if len(lhs) != len(rhs):
        raise ShapeError(
            f"{shown}: {len(lhs)} {what} dimensions on the left, {len(rhs)} on the right; give as many"
        )
    for a, b in zip(lhs, rhs, strict=True):
        if x.shape[a] != y.shape[b]:
            raise ShapeError(
                f"{shown}: {what} dimension {a} of the left operand has size {x.shape[a]}, its partner, "
                f"dimension {b} of the right one, has size {y.shape[b]}; they must be equal"
            )


def free(ndim: int, contract: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions of an operand that are neither contracted nor batch dimensions."""
    return tuple([d for d in range(ndim) if d not in contract and d not in batch])


dot_general = Primitive(
    "dot_general", dot_general_aval, kinds=("bilinear", "shapeless"),
    doc="products of two arrays, summed over contracting dimensions, side by side along batch dimensions",
    parameters={
        "dimension_numbers": "((of x, of y), (of x, of y)): the dimensions that are summed over, and "
        "those that both share as a batch; tuples of int",
        "precision": "tuple of two lax.Precision, or None: how exact products of floats are",
        "preferred_element_type": "dtype or None: of the result; None: that of the operands",
    },
)  # fmt: skip


# ----------------------------------------------------------------------------------------------- lowering
@dot_general.rule("lower")
def lower_dot_general(op: Site, x: str, y: str) -> str:
    a, b = op.in_avals
    if a.dtype == BOOL:
        return lower_boolean(op, x, y)
    if min(dtypes.itemsize_bits(a.dtype), dtypes.itemsize_bits(b.dtype)) < 8:
        return lower_in_bytes(op, x, y)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = op["dimension_numbers"]
    batch = f", batching_dims = {int_list(lhs_batch)} x {int_list(rhs_batch)}" if lhs_batch else ""
    contract = f", contracting_dims = {int_list(lhs_contract)} x {int_list(rhs_contract)}"
    return op.emit(
        f"stablehlo.dot_general {x}, {y}{batch}{contract}{accuracy(op.params.get('precision'), a, b)} : "
        f"({a.mlir}, {b.mlir}) -> {op.out.mlir}"
    )


def lower_in_bytes(op: Site, x: str, y: str) -> str:
    """Numbers of less than a byte are multiplied as what holds their products exactly, and rounded once."""
    kind, out = op.in_avals[0].kind, op.out.dtype
    wide = np.dtype({"i": "int32", "u": "uint32"}.get(kind) or dtypes.spec(op.in_avals[0].dtype).compute)
    total = out if op.out.kind == kind and dtypes.itemsize_bits(out) >= wide.itemsize * 8 else wide

    def parts(p: Value, q: Value) -> Value:
        p, q = convert.to_dtype(p, wide), convert.to_dtype(q, wide)
        numbers = op["dimension_numbers"]
        summed = dot_general(p, q, dimension_numbers=numbers, preferred_element_type=total)
        return convert.to_dtype(summed, out)

    return inlining.inline(op, parts, [x, y])


def accuracy(precision: Any, x: ShapedArray, y: ShapedArray) -> str:
    """The attributes that say how exactly to multiply: a pair of precisions, or a named algorithm."""
    if precision is None:
        return ""
    if type(precision) is tuple:  # an algorithm is a named one
        return f", precision = [{', '.join([p.name for p in precision])}]"
    algorithm = precision.algorithm
    if algorithm.lhs_precision_type == "any_f8":
        algorithm = algorithm._replace(
            lhs_precision_type=dtypes.spec(x.dtype).mlir, rhs_precision_type=dtypes.spec(y.dtype).mlir,
            accumulation_type="f32",
        )  # fmt: skip
    fields = ", ".join([f"{name} = {_mlir(value)}" for name, value in algorithm._asdict().items()])
    return f", precision = [DEFAULT, DEFAULT], algorithm = <{fields}>"


def _mlir(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def lower_boolean(op: Site, x: Any, y: Any) -> Any:
    """On booleans a sum is "or": count in int32, and compare with zero."""
    counted = np.dtype("int32")

    def parts(p: Any, q: Any) -> Any:
        p, q = convert.to_dtype(p, counted), convert.to_dtype(q, counted)
        return convert.to_dtype(dot_general(p, q, dimension_numbers=op["dimension_numbers"]), op.out.dtype)

    return inlining.inline(op, parts, [x, y])


# ------------------------------------------------------------------------------------------ transposition
@dot_general.rule("transpose")
def transpose_dot_general(
    op: Op, ct: Value, x: Linear | Value, y: Linear | Value
) -> tuple[Value | None, ...]:
    """The cotangent of one operand is the product of ``ct`` with the other, contracted over what the other
    kept. Operands keep their dimensions, so that what cuts them over devices goes through.
    """
    if type(x) is Linear:
        return product_with(op, ct, x.aval, y, left=True), None
    return None, product_with(op, ct, y.aval, x, left=False)


def wider(a: DType, b: DType) -> DType:
    """The dtype in which to multiply two: what they promote to, or the one of more bits where formats of few
    bits do not promote.
    """
    try:
        return dtypes.promote_types(a, b)
    except dtypes.TypePromotionError:
        return a if dtypes.itemsize_bits(a) >= dtypes.itemsize_bits(b) else b


def product_with(op: Op, ct: Value, aval: ShapedArray, other: Value, left: bool) -> Value:
    """The cotangent of the operand of type ``aval`` (the left one or the right one), ``other`` being the
    known operand.
    """
    (contract, other_contract), (batch, other_batch) = _as_seen_from(op.params["dimension_numbers"], left)
    mine, others = free(aval.ndim, contract, batch), free(typeof(other).ndim, other_contract, other_batch)
    n = len(batch)
    # Where in ct the batch dimensions, and those that the other operand kept, are.
    ct_batch = tuple(range(n))
    first = n + (len(mine) if left else 0)
    ct_others = tuple(range(first, first + len(others)))
    dtype = wider(typeof(ct).dtype, typeof(other).dtype)
    ct, other = convert.to_dtype(ct, dtype), convert.to_dtype(other, dtype)

    # What remains of `other` are its contracted dimensions, in its own order: they belong to these dimensions
    # of the operand.
    pairs = dict(zip(other_contract, contract, strict=True))
    remaining = [pairs[d] for d in sorted(other_contract)]
    direct = [*batch, *mine, *remaining]
    swapped = [*batch, *remaining, *mine]
    params = {"precision": as_seen(op.params.get("precision"), left), "preferred_element_type": None}
    if swapped == sorted(swapped) and direct != swapped:
        out = product_over(other, ct, (others, ct_others), (other_batch, ct_batch), _swapped(params))
        order = swapped
    else:
        out = product_over(ct, other, (ct_others, others), (ct_batch, other_batch), params)
        order = direct
    if order != sorted(order):
        out = shape.transpose(out, permutation=shape.inverse(order))
    return convert.to_dtype(out, aval.dtype)


def _as_seen_from(
    dimension_numbers: tuple[tuple[tuple[Any, ...], ...], ...], left: bool
) -> tuple[tuple[tuple[Any, ...], ...], ...]:
    if left:
        return dimension_numbers
    (a, b), (c, d) = dimension_numbers
    return (b, a), (d, c)


def as_seen(precision: tuple[Precision, ...] | None, left: bool) -> tuple[Precision, ...] | None:
    """A pair of precisions with that of the known operand second."""
    return precision if left or type(precision) is not tuple else (precision[1], precision[0])


def _swapped(params: dict[Any, Any]) -> dict[Any, Any]:
    return {**params, "precision": as_seen(params["precision"], False)}


def product_over(
    x: Value,
    y: Value,
    contract: tuple[tuple[Any, ...], ...],
    batch: tuple[tuple[Any, ...], ...],
    params: dict[Any, Any],
) -> Value:
    """``dot_general`` over these pairs of dimensions, in the order of the first operand's."""
    pairs = sorted(zip(*contract, strict=True))
    lhs, rhs = tuple([p[0] for p in pairs]), tuple([p[1] for p in pairs])
    return dot_general(x, y, dimension_numbers=((lhs, rhs), (tuple(batch[0]), tuple(batch[1]))), **params)


# ----------------------------------------------------------------------------------------------- batching
@dot_general.rule("batch")
def batch_dot_general(op: Op, x: Batched, y: Batched) -> Batched:
    """Both batched: one more batch dimension. Only one: one more free dimension of that operand."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = op.params["dimension_numbers"]
    n = len(lhs_batch)
    if x.axis is not None:
        lhs_contract, lhs_batch = past(lhs_contract, x.axis), past(lhs_batch, x.axis)
    if y.axis is not None:
        rhs_contract, rhs_batch = past(rhs_contract, y.axis), past(rhs_batch, y.axis)
    if x.axis is not None and y.axis is not None:
        lhs_batch, rhs_batch, axis = (x.axis, *lhs_batch), (y.axis, *rhs_batch), 0
    elif x.axis is not None:
        axis = n + free(typeof(x.value).ndim, lhs_contract, lhs_batch).index(x.axis)
    else:
        kept = typeof(x.value).ndim - len(lhs_contract)
        axis = kept + free(typeof(y.value).ndim, rhs_contract, rhs_batch).index(y.axis)
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return Batched(dot_general(x.value, y.value, **{**op.params, "dimension_numbers": numbers}), axis)


def past(dims: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Dimensions of the unbatched array as those of the batched one."""
    return tuple([d + (d >= axis) for d in dims])
