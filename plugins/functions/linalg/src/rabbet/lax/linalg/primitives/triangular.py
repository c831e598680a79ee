"""Systems of linear equations with a triangular matrix."""

from rabbet import lax
from rabbet.errors import ShapeError
from rabbet.extend.primitive import Batched, Dual, Linear, Primitive, Zero, instantiate, move_axis
from rabbet.extend.rules import at_front, same_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices


def triangular_solve_aval(a, b, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    matrices.square_matrices("triangular_solve", a)
    same_dtype("triangular_solve", a, b)
    n = b.shape[-2 if left_side else -1] if b.ndim >= 2 else None
    if b.ndim != a.ndim or b.shape[:-2] != a.shape[:-2] or n != a.shape[-1]:
        wanted = "(..., n, k)" if left_side else "(..., k, n)"
        raise ShapeError(
            f"triangular_solve with left_side={left_side} takes a of shape (..., n, n) and b of shape "
            f"{wanted} with equal leading dimensions, got a: {a.str_short()}, b: {b.str_short()}"
        )
    return b if a.weak_type else b.strong()


triangular_solve = Primitive(
    "triangular_solve", triangular_solve_aval,
    doc="x in op(a) x = b, or in x op(a) = b; op transposes or conjugates, a is triangular",
)  # fmt: skip


@triangular_solve.rule("lower")
def lower_triangular_solve(op, a, b):
    aval, out = op.in_avals[0], op.out
    if not out.size:
        return op.constant(0, out)
    transposed = "NO_TRANSPOSE"
    if op["transpose_a"]:
        transposed = "ADJOINT" if op["conjugate_a"] else "TRANSPOSE"
    elif op["conjugate_a"]:
        (a,) = op.write(lambda x: [matrices.conjugate(x)], [aval], [a])
    sides = ", ".join([f"{k} = {str(op[k]).lower()}" for k in ("left_side", "lower", "unit_diagonal")])
    return op.emit(
        f'"stablehlo.triangular_solve"({a}, {b}) {{{sides}, '
        f"transpose_a = #stablehlo<transpose {transposed}>}} : ({aval.mlir}, {out.mlir}) -> {out.mlir}"
    )


@triangular_solve.rule("jvp")
def jvp_triangular_solve(op, a, b):
    """From ``op(a) x = b``: ``op(a) dx = db - op(da) x``, with the triangle of ``da`` that is read."""
    x = op(a.primal, b.primal)
    right = b.tangent
    if type(a.tangent) is not Zero:
        change = applied(op, as_read(op, a.tangent), x)
        right = lax.neg(change) if type(right) is Zero else lax.sub(right, change)
    return Dual(x, op(a.primal, right))


def as_read(op, a):
    """``a`` with zeros where the operation does not look."""
    off = int(op["unit_diagonal"])
    return matrices.lower_triangle(a, -off) if op["lower"] else matrices.upper_triangle(a, off)


def applied(op, a, x):
    """``op(a) x``, or ``x op(a)``."""
    if op["transpose_a"]:
        a = matrices.transposed(a)
    if op["conjugate_a"]:
        a = matrices.conjugate(a)
    return matrices.product(a, x) if op["left_side"] else matrices.product(x, a)


@triangular_solve.rule("transpose")
def transpose_triangular_solve(op, ct, a, b):
    """With respect to ``b``, in which it is linear: the solution with ``op(a)`` transposed."""
    if type(a) is Linear:
        raise ShapeError(
            "triangular_solve is linear in b alone: it cannot be transposed with respect to the matrix a; "
            "differentiate it instead"
        )
    params = {**op.params, "transpose_a": not op["transpose_a"]}
    return None, triangular_solve(a, instantiate(ct), **params)


@triangular_solve.rule("batch")
def batch_triangular_solve(op, a, b):
    if a.axis is None and typeof(a.value).ndim == 2:
        return one_matrix(op, a.value, b)
    return Batched(op(*at_front(a, b)), 0)


def one_matrix(op, a, b):
    """One matrix, many right-hand sides: they are put side by side, as one system."""
    aside = 2 if op["left_side"] else 0
    moved = move_axis(b.value, b.axis, aside)
    sizes = typeof(moved).shape
    if op["left_side"]:
        flat = (sizes[0], sizes[1] * sizes[2])
    else:
        flat = (sizes[0] * sizes[1], sizes[2])
    x = op(a, lax.reshape(moved, new_sizes=flat))
    return Batched(lax.reshape(x, new_sizes=sizes), aside)
