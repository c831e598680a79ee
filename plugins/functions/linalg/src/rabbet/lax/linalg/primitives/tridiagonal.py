"""Systems of linear equations with a tridiagonal matrix."""

from rabbet import lax
from rabbet.errors import ShapeError
from rabbet.extend.primitive import (
    Batched,
    Dual,
    Linear,
    Primitive,
    Zero,
    accept,
    full_of_type,
    instantiate,
    move_axis,
)
from rabbet.extend.rules import at_front, same_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices


def tridiagonal_solve_aval(dl, d, du, b, perturb_singular=False):
    accept("tridiagonal_solve", "fc", dl, d, du, b)
    same_dtype("tridiagonal_solve", d, dl, du, b)
    if not dl.shape == d.shape == du.shape or b.ndim < 2 or b.shape[:-1] != d.shape:
        shown = ", ".join([f"{n}: {a.str_short()}" for n, a in (("dl", dl), ("d", d), ("du", du), ("b", b))])
        raise ShapeError(
            "tridiagonal_solve takes three diagonals of shape (..., n) and right-hand sides of shape "
            f"(..., n, k) with equal leading dimensions, got {shown}"
        )
    return b.strong()


tridiagonal_solve = Primitive(
    "tridiagonal_solve", tridiagonal_solve_aval,
    doc="x in a x = b, a given by its lower diagonal (whose first element is not read), its diagonal and "
    "its upper diagonal (whose last element is not read)",
)  # fmt: skip


@tridiagonal_solve.rule("lower")
def lower_tridiagonal_solve(op, *names):
    if op["perturb_singular"]:
        raise NotImplementedError(
            f"tridiagonal_solve with perturb_singular=True is not offered for the platform {op.platform!r}; "
            "leave it out, or run this part on the CPU"
        )
    return op.write(lambda *args: [by_elimination(*args)], op.in_avals, names)[0]


def by_elimination(dl, d, du, b):
    """Gauss's elimination without pivoting (the Thomas algorithm), one row after the other: for a platform
    without a routine of its own. It is stable for matrices that are diagonally dominant or positive definite.
    """
    if not typeof(b).size:
        return b
    axis = typeof(d).ndim - 1
    rows = [move_axis(x, axis, 0) for x in (dl, d, du, b)]
    slices = [typeof(x).update(shape=typeof(x).shape[1:]).strong() for x in rows]
    none = nothing(slices[2]), nothing(slices[3])
    _, above = lax.scan(eliminate, none, tuple(rows))
    _, x = lax.scan(substitute, none[1], above, reverse=True)
    return move_axis(x, 0, axis)


def nothing(aval):
    """Zeros; of one number, too, by an operation, since a loop carries arrays."""
    return full_of_type(aval, 0) if aval.shape else lax.reshape(full_of_type(aval.update(shape=(1,)), 0), ())


def eliminate(above, row):
    """One step down: this row less a multiple of the row above it, whose diagonal is 1."""
    (upper, right), (dl, d, du, b) = above, row
    pivot = lax.sub(d, lax.mul(dl, upper))
    upper = lax.div(du, pivot)
    right = lax.div(lax.sub(b, lax.mul(along(dl, b), right)), along(pivot, b))
    return (upper, right), (upper, right)


def substitute(x, row):
    """One step up."""
    upper, right = row
    x = lax.sub(right, lax.mul(along(upper, x), x))
    return x, x


def along(x, like):
    """``x`` repeated along the last dimension of ``like``."""
    sizes = typeof(like).shape
    return matrices.beside(x, sizes, len(sizes) - 1)


# ------------------------------------------------------------------------------------------------- rules
@tridiagonal_solve.rule("jvp")
def jvp_tridiagonal_solve(op, dl, d, du, b):
    """From ``a x = b``: ``a dx = db - da x``."""
    x = op(dl.primal, d.primal, du.primal, b.primal)
    right = b.tangent
    for diagonal, shift in ((dl, 1), (d, 0), (du, -1)):
        if type(diagonal.tangent) is not Zero:
            change = lax.mul(along(diagonal.tangent, x), shifted(x, shift))
            right = lax.neg(change) if type(right) is Zero else lax.sub(right, change)
    return Dual(x, op(dl.primal, d.primal, du.primal, right))


def shifted(x, steps, back=2):
    """Matrices with their rows moved down by one (``steps=1``) or up by one (-1), zeros moving in.

    With ``back=1``: vectors with their elements moved.
    """
    if not steps:
        return x
    aval = typeof(x)
    config = tuple([(steps, -steps, 0) if i == aval.ndim - back else (0, 0, 0) for i in range(aval.ndim)])
    return lax.pad(x, full_of_type(aval.strong().update(shape=()), 0), padding_config=config)


@tridiagonal_solve.rule("transpose")
def transpose_tridiagonal_solve(op, ct, dl, d, du, b):
    """With respect to ``b``, in which it is linear: the solution with the transposed matrix."""
    if any(type(x) is Linear for x in (dl, d, du)):
        raise ShapeError(
            "tridiagonal_solve is linear in b alone: it cannot be transposed with respect to a diagonal; "
            "differentiate it instead"
        )
    lower, upper = shifted(du, 1, back=1), shifted(dl, -1, back=1)
    return None, None, None, op(lower, d, upper, instantiate(ct))


@tridiagonal_solve.rule("batch")
def batch_tridiagonal_solve(op, dl, d, du, b):
    if typeof(d.value).ndim == 1 and all(x.axis is None for x in (dl, d, du)):
        # One matrix, many right-hand sides: they are put side by side.
        moved = move_axis(b.value, b.axis, 2)
        sizes = typeof(moved).shape
        x = op(dl.value, d.value, du.value, lax.reshape(moved, new_sizes=(sizes[0], sizes[1] * sizes[2])))
        return Batched(lax.reshape(x, new_sizes=sizes), 2)
    return Batched(op(*at_front(dl, d, du, b)), 0)
