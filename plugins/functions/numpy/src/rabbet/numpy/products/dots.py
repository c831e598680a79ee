"""Products of vectors and matrices. Each is one ``dot_general`` and what it takes to bring its operands
into shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.numpy.reductions.reducing import converted, spread_to
from rabbet.numpy.support.arguments import as_array, axes_of, axis_of, check, in_dtype, no_out

if TYPE_CHECKING:
    from rabbet.typing import DTypeLike, Value

STATIC = ("precision", "preferred_element_type")


def operands(name: str, *arrays: Value) -> Any:
    """Arrays in one dtype, shapes left as they are; and whether that dtype is weak."""
    check(name, *arrays)
    dtype, weak = dtypes.promote(*arrays)
    return [as_array(in_dtype((x,), dtype, weak)[0]) for x in arrays]


def mismatch(name: Any, x: Any, y: Any, rule: Any) -> Any:
    """The error for shapes that do not fit."""
    return TypeError(f"{name}: the shapes {x.shape} and {y.shape} do not fit together: {rule}")


@obeys_out_sharding
@fused(static=STATIC)
def dot(
    a: Value,
    b: Value,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Value:
    """The product of two arrays over the last dimension of ``a`` and the last but one (of a vector, the
    only one) of ``b``.

    For vectors the inner product, for matrices the matrix product; with a number, the elementwise product.

    Args:
      a, b: arrays.
      precision: see ``lax.Precision``.
      preferred_element_type: the dtype of sums and result.

    Raises:
      TypeError: if the two dimensions differ in size.

    Example:
      >>> rnp.dot(rnp.array([[1, 2], [3, 4]]), rnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    x, y = operands("dot", a, b)
    if not x.ndim or not y.ndim:
        out = lax.mul(x, y)
        return (
            out
            if preferred_element_type is None
            else converted(out, dtypes.requested(preferred_element_type))
        )
    over = max(y.ndim - 2, 0)
    if x.shape[-1] != y.shape[over]:
        raise mismatch(
            "dot",
            x,
            y,
            f"the last dimension of the first has size {x.shape[-1]}, dimension "
            f"{over} of the second {y.shape[over]}",
        )
    return lax.dot_general(x, y, (((x.ndim - 1,), (over,)), ((), ())), precision, preferred_element_type)


@obeys_out_sharding
@fused(static=STATIC)
def matmul(
    a: Value,
    b: Value,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Value:
    """``a @ b``: the matrix product of the last two dimensions, all others broadcast; vectors are rows or
    columns.

    Args:
      a, b: arrays of at least one dimension.
      precision: see ``lax.Precision``.
      preferred_element_type: the dtype of sums and result.

    Raises:
      TypeError: if the summed dimensions differ in size.
      ValueError: for numbers, or if the other dimensions do not broadcast.

    Example:
      >>> rnp.matmul(rnp.ones((5, 2, 3)), rnp.ones((3, 4))).shape
      (5, 2, 4)
    """
    x, y = operands("matmul", a, b)
    if not x.ndim or not y.ndim:
        raise ShapeError(
            f"matmul takes arrays of at least one dimension, got {x.aval.str_short()} "
            f"and {y.aval.str_short()}; use multiply"
        )
    over = max(y.ndim - 2, 0)
    if x.shape[-1] != y.shape[over]:
        raise mismatch(
            "matmul",
            x,
            y,
            f"the last dimension of the first has size {x.shape[-1]}, dimension "
            f"{over} of the second {y.shape[over]}",
        )
    if y.ndim <= 2:  # nothing to broadcast: all of x's leading dimensions are rows
        return lax.dot_general(x, y, (((x.ndim - 1,), (over,)), ((), ())), precision, preferred_element_type)
    return batched_matmul(x, y, precision, preferred_element_type)


def batched_matmul(x: Any, y: Any, precision: Any, preferred_element_type: Any) -> Any:
    """The product of stacks of matrices (or a vector and a stack)."""
    if x.ndim <= 2:  # the stack's dimensions become columns
        out = lax.dot_general(
            x, y, (((x.ndim - 1,), (y.ndim - 2,)), ((), ())), precision, preferred_element_type
        )
        return out if x.ndim == 1 else lax.transpose(out, (*range(1, out.ndim - 1), 0, out.ndim - 1))
    lead = lax.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = spread_to(x, (*lead, *x.shape[-2:])), spread_to(y, (*lead, *y.shape[-2:]))
    n = len(lead)
    batch = tuple(range(n))
    return lax.dot_general(x, y, (((n + 1,), (n,)), (batch, batch)), precision, preferred_element_type)


@fused(static=STATIC)
def vdot(
    a: Value, b: Value, *, precision: Any = None, preferred_element_type: DTypeLike | None = None
) -> Value:
    """The sum of the products of all elements, those of a complex ``a`` conjugated.

    Raises:
      TypeError: if the numbers of elements differ.

    Example:
      >>> rnp.vdot(rnp.array([1j, 2.0]), rnp.array([1j, 1.0]))
      Array(3.+0.j, dtype=complex64)
    """
    x, y = operands("vdot", a, b)
    if x.size != y.size:
        raise mismatch("vdot", x, y, "they must have one number of elements")
    if dtypes.kind(x.dtype) == "c":
        x = lax.conj(x)
    x, y = lax.reshape(x, (x.size,)), lax.reshape(y, (y.size,))
    return lax.dot_general(x, y, (((0,), (0,)), ((), ())), precision, preferred_element_type)


@fused(static=("axis", *STATIC))
def vecdot(
    x1: Value,
    x2: Value,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Value:
    """The inner products of vectors along ``axis``, the others broadcast; a complex ``x1`` is conjugated.

    Raises:
      ValueError: if the vectors differ in length.

    Example:
      >>> rnp.vecdot(rnp.ones((5, 3)), rnp.ones(3)).shape
      (5,)
    """
    x, y = operands("vecdot", x1, x2)
    i, j = axis_of("vecdot", axis, x.ndim), axis_of("vecdot", axis, y.ndim)
    if x.shape[i] != y.shape[j]:
        raise ShapeError(
            f"vecdot: vectors of {x.shape[i]} and {y.shape[j]} elements along "
            f"axis {axis}; they must be as long"
        )
    x = lax.transpose(x, (*[d for d in range(x.ndim) if d != i], i))
    y = lax.transpose(y, (*[d for d in range(y.ndim) if d != j], j))
    x = lax.conj(x) if dtypes.kind(x.dtype) == "c" else x
    shape = lax.broadcast_shapes(x.shape, y.shape)
    n = len(shape) - 1
    batch = tuple(range(n))
    return lax.dot_general(
        spread_to(x, shape),
        spread_to(y, shape),
        (((n,), (n,)), (batch, batch)),
        precision,
        preferred_element_type,
    )


@fused(static=STATIC)
def inner(
    a: Value, b: Value, *, precision: Any = None, preferred_element_type: DTypeLike | None = None
) -> Value:
    """The product over the last dimensions of both; with a number, the elementwise product.

    Raises:
      TypeError: if they differ in size.

    Example:
      >>> rnp.inner(rnp.array([[1, 2], [3, 4]]), rnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    x, y = operands("inner", a, b)
    if not x.ndim or not y.ndim:
        return lax.mul(x, y)
    if x.shape[-1] != y.shape[-1]:
        raise mismatch("inner", x, y, "their last dimensions must have one size")
    return lax.dot_general(
        x, y, (((x.ndim - 1,), (y.ndim - 1,)), ((), ())), precision, preferred_element_type
    )


@fused
def outer(a: Value, b: Value, out: Any = None) -> Value:
    """All products of an element of ``a`` and one of ``b``, both flattened: a matrix.

    Example:
      >>> rnp.outer(rnp.array([1, 10]), rnp.array([1, 2]))
      Array([[ 1,  2],
             [10, 20]], dtype=int32)
    """
    no_out("outer", out)
    x, y = operands("outer", a, b)
    shape = (x.size, y.size)
    x, y = lax.reshape(x, (x.size,)), lax.reshape(y, (y.size,))
    return lax.mul(lax.broadcast_in_dim(x, shape, (0,)), lax.broadcast_in_dim(y, shape, (1,)))


@obeys_out_sharding
@fused(static=("axes", *STATIC))
def tensordot(
    a: Value,
    b: Value,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Value:
    """The product of two arrays over pairs of dimensions.

    Args:
      a, b: arrays.
      axes: an int n: the last n dimensions of ``a`` with the first n of ``b``; or two ints or two sequences
        of as many: the dimensions of ``a`` and those of ``b``.

    Raises:
      TypeError: if paired dimensions differ in size or ``axes`` is neither.

    Example:
      >>> rnp.tensordot(rnp.ones((2, 3, 4)), rnp.ones((3, 4, 5)), axes=2).shape
      (2, 5)
    """
    x, y = operands("tensordot", a, b)
    if hasattr(axes, "__index__"):
        n = axes.__index__()
        if n > min(x.ndim, y.ndim) or n < 0:
            raise ShapeError(
                f"tensordot over {n} dimensions needs arrays that have as many, got "
                f"{x.aval.str_short()} and {y.aval.str_short()}"
            )
        left, right = tuple(range(x.ndim - n, x.ndim)), tuple(range(n))
    else:
        if len(axes) != 2:
            raise TypeError(
                f"tensordot: axes must be an int, or a pair: dimensions of a and of b; got {axes!r}"
            )
        left, right = axes_of("tensordot", axes[0], x.ndim), axes_of("tensordot", axes[1], y.ndim)
    sizes = [x.shape[d] for d in left], [y.shape[d] for d in right]
    if sizes[0] != sizes[1]:
        raise mismatch(
            "tensordot",
            x,
            y,
            f"the paired dimensions {left} and {right} have the sizes {sizes[0]} and {sizes[1]}",
        )
    return lax.dot_general(x, y, ((left, right), ((), ())), precision, preferred_element_type)


@fused
def kron(a: Value, b: Value) -> Value:
    """The Kronecker product: ``b`` repeated, once scaled by each element of ``a``.

    Example:
      >>> rnp.kron(rnp.array([1, 10]), rnp.array([1, 2]))
      Array([ 1,  2, 10, 20], dtype=int32)
    """
    x, y = operands("kron", a, b)
    rank = max(x.ndim, y.ndim)
    x = lax.expand_dims(x, tuple(range(rank - x.ndim)))
    y = lax.expand_dims(y, tuple(range(rank - y.ndim)))
    shape = tuple([n for pair in zip(x.shape, y.shape) for n in pair])
    left = lax.broadcast_in_dim(x, shape, tuple(range(0, 2 * rank, 2)))
    right = lax.broadcast_in_dim(y, shape, tuple(range(1, 2 * rank, 2)))
    return lax.reshape(lax.mul(left, right), tuple([n * m for n, m in zip(x.shape, y.shape)]))


@fused(static=("axisa", "axisb", "axisc", "axis"))
def cross(
    a: Value, b: Value, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Value:
    """The cross product of vectors of 3 (or 2, of which the third component is 0 and not returned alone)
    elements.

    Args:
      a, b: arrays of vectors, which broadcast.
      axisa, axisb, axisc: the vectors' dimension in ``a``, ``b`` and the result; ``axis`` sets all three.

    Raises:
      ValueError: for vectors of other lengths.

    Example:
      >>> rnp.cross(rnp.array([1, 0, 0]), rnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = operands("cross", a, b)
    x, y = last(x, axis_of("cross", axisa, x.ndim)), last(y, axis_of("cross", axisb, y.ndim))
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError(f"cross takes vectors of 2 or 3 elements, got {x.shape[-1]} and {y.shape[-1]}")
    flat = x.shape[-1] == y.shape[-1] == 2
    lead = lax.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    (x0, x1, x2), (y0, y1, y2) = components(x, lead), components(y, lead)
    third = lax.sub(lax.mul(x0, y1), lax.mul(x1, y0))
    if flat:
        return third
    first = lax.sub(lax.mul(x1, y2), lax.mul(x2, y1))
    second = lax.sub(lax.mul(x2, y0), lax.mul(x0, y2))
    out = lax.stack([first, second, third], len(lead))
    at = axis_of("cross", axisc, out.ndim)
    return lax.transpose(out, (*range(at), out.ndim - 1, *range(at, out.ndim - 1)))


def last(x: Any, axis: Any) -> Any:
    """``x`` with one dimension moved to the end."""
    return lax.transpose(x, (*[d for d in range(x.ndim) if d != axis], axis))


def components(x: Any, lead: Any) -> Any:
    """The three components of vectors, broadcast; a missing third one is 0."""
    parts = [spread_to(p, lead) for p in lax.unstack(x, axis=-1)]
    return parts if len(parts) == 3 else [*parts, lax.full_like(parts[0], 0)]


__all__ = [
    "cross", "dot", "inner", "kron", "matmul", "outer", "tensordot", "vdot", "vecdot",
]  # fmt: skip
