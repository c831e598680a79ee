"""Systems of linear equations with a tridiagonal matrix."""

from rabbet.primitives import batching, checks, elementwise, loops, matrices, shape, zeros
from rabbet.rules.payloads import Batched, Dual, Linear, Zero
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage


def tridiagonal_solve_aval(dl, d, du, b, perturb_singular=False):
    checks.accept("tridiagonal_solve", checks.INEXACT, dl, d, du, b)
    checks.same_dtype("tridiagonal_solve", d, dl, du, b)
    if not dl.shape == d.shape == du.shape or b.ndim < 2 or b.shape[:-1] != d.shape:
        shown = ", ".join([f"{n}: {a.str_short()}" for n, a in (("dl", dl), ("d", d), ("du", du), ("b", b))])
        raise ValueError(
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
    n = typeof(b).shape[-2]
    if not typeof(b).size:
        return b
    axis = typeof(d).ndim - 1
    rows = [batching.move_axis(x, axis, 0) for x in (dl, d, du, b)]
    slices = [typeof(x).update(shape=typeof(x).shape[1:]).strong() for x in rows]
    none = [zeros.full(slices[2], 0), zeros.full(slices[3], 0)]
    down = stage(eliminate, [slices[2], slices[3], *slices], "tridiagonal_solve").jaxpr
    _, _, upper, right = loops.scan(
        *none, *rows, jaxpr=down, length=n, reverse=False, consts=0, carry=2, unroll=1
    )
    up = stage(substitute, [slices[3], slices[2], slices[3]], "tridiagonal_solve").jaxpr
    _, x = loops.scan(none[1], upper, right, jaxpr=up, length=n, reverse=True, consts=0, carry=1, unroll=1)
    return batching.move_axis(x, 0, axis)


def eliminate(upper, right, dl, d, du, b):
    """One step down: this row less a multiple of the row above it, whose diagonal is 1."""
    pivot = elementwise.sub(d, elementwise.mul(dl, upper))
    upper = elementwise.div(du, pivot)
    right = elementwise.div(elementwise.sub(b, elementwise.mul(along(dl, b), right)), along(pivot, b))
    return [upper, right, upper, right]


def substitute(x, upper, right):
    """One step up."""
    x = elementwise.sub(right, elementwise.mul(along(upper, x), x))
    return [x, x]


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
            change = elementwise.mul(along(diagonal.tangent, x), shifted(x, shift))
            right = elementwise.neg(change) if type(right) is Zero else elementwise.sub(right, change)
    return Dual(x, op(dl.primal, d.primal, du.primal, right))


def shifted(x, steps, back=2):
    """Matrices with their rows moved down by one (``steps=1``) or up by one (-1), zeros moving in.

    With ``back=1``: vectors with their elements moved.
    """
    if not steps:
        return x
    aval = typeof(x)
    config = tuple([(steps, -steps, 0) if i == aval.ndim - back else (0, 0, 0) for i in range(aval.ndim)])
    return shape.pad(x, zeros.full(aval.strong().update(shape=()), 0), padding_config=config)


@tridiagonal_solve.rule("transpose")
def transpose_tridiagonal_solve(op, ct, dl, d, du, b):
    """With respect to ``b``, in which it is linear: the solution with the transposed matrix."""
    if any(type(x) is Linear for x in (dl, d, du)):
        raise TypeError(
            "tridiagonal_solve is linear in b alone: it cannot be transposed with respect to a diagonal; "
            "differentiate it instead"
        )
    lower, upper = shifted(du, 1, back=1), shifted(dl, -1, back=1)
    return None, None, None, op(lower, d, upper, zeros.instantiate(ct))


@tridiagonal_solve.rule("batch")
def batch_tridiagonal_solve(op, dl, d, du, b):
    if typeof(d.value).ndim == 1 and all(x.axis is None for x in (dl, d, du)):
        # One matrix, many right-hand sides: they are put side by side.
        moved = batching.move_axis(b.value, b.axis, 2)
        sizes = typeof(moved).shape
        x = op(dl.value, d.value, du.value, shape.reshape(moved, new_sizes=(sizes[0], sizes[1] * sizes[2])))
        return Batched(shape.reshape(x, new_sizes=sizes), 2)
    return Batched(op(*batching.at_front(dl, d, du, b)), 0)
