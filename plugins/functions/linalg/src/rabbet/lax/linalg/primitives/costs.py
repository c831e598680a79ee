"""What factorizations cost: the terms of highest order, as G. H. Golub and C. F. Van Loan (Matrix
Computations, 4th edition) and LAPACK Working Note 41 count them. Iterative ones are averages.

They are estimates of the algorithms of LAPACK; a step on complex numbers counts as four. A platform whose
compiler has an operation of its own counts that itself.
"""

from math import prod

from rabbet import dtypes
from rabbet.extend.cost import Cost
from rabbet.lax.linalg.primitives.cholesky import cholesky
from rabbet.lax.linalg.primitives.eig import eig
from rabbet.lax.linalg.primitives.eigh import eigh
from rabbet.lax.linalg.primitives.lu import lu
from rabbet.lax.linalg.primitives.qr import geqp3, geqrf, householder_product, ormqr
from rabbet.lax.linalg.primitives.reductions import hessenberg, schur, tridiagonal
from rabbet.lax.linalg.primitives.svd import svd
from rabbet.lax.linalg.primitives.triangular import triangular_solve
from rabbet.lax.linalg.primitives.tridiagonal import tridiagonal_solve
from rabbet.lax.linalg.primitives.updates import cholesky_update, symmetric_product


def costs(*primitives):
    """Decorator: ``flops(op, *types)`` of one matrix is the rule ``cost`` of the primitives."""

    def install(flops):
        def rule(op, *types):
            x = types[0]
            each = flops(op, *types) * (4.0 if dtypes.kind(x.dtype) == "c" else 1.0)
            matrices = prod(x.shape[: -1 if op.primitive is tridiagonal_solve else -2])
            moved = sum([t.nbytes for t in (*types, *op.outs(types))])
            return Cost(each * matrices, float(moved))

        rule.__name__ = rule.__qualname__ = flops.__name__
        for primitive in primitives:
            primitive.rule("cost")(rule)
        return flops

    return install


def long_and_short(x):
    """The sizes of a matrix, the larger one first."""
    return max(x.shape[-2:]), min(x.shape[-2:])


def cubes(count):
    """``count * n**3`` for square matrices."""
    return lambda op, x, *_: count * x.shape[-1] ** 3.0


costs(cholesky)(cubes(1 / 3))
costs(hessenberg)(cubes(10 / 3))
costs(tridiagonal)(cubes(4 / 3))
costs(eigh)(cubes(9.0))


@costs(lu)
def lu_flops(op, x):
    m, n = long_and_short(x)
    return m * n**2 - n**3 / 3


@costs(geqrf, geqp3)
def qr_flops(op, x):
    m, n = long_and_short(x)
    return 2.0 * m * n**2 - 2 * n**3 / 3


@costs(householder_product)
def product_flops(op, x, taus):
    (m, n), k = x.shape[-2:], taus.shape[-1]
    return 4.0 * m * n * k - 2 * (m + n) * k**2 + 4 * k**3 / 3


@costs(ormqr)
def reflected_flops(op, x, taus, c):
    k = taus.shape[-1]
    along, across = c.shape[-2:] if op.params["left"] else c.shape[:-3:-1]
    return (4.0 * along - 2 * k) * across * k


@costs(schur)
def schur_flops(op, x):
    return cubes(25.0 if op.params["compute_schur_vectors"] else 10.0)(op, x)


@costs(eig)
def eig_flops(op, x):
    wanted = op.params["compute_left_eigenvectors"] or op.params["compute_right_eigenvectors"]
    return cubes(25.0 if wanted else 10.0)(op, x)


@costs(svd)
def svd_flops(op, x):
    m, n = long_and_short(x)
    if not op.params["compute_uv"]:
        return 4.0 * m * n**2 - 4 * n**3 / 3
    if op.params["full_matrices"]:
        return 4.0 * m**2 * n + 22 * n**3
    return min(14.0 * m * n**2 + 8 * n**3, 6.0 * m * n**2 + 20 * n**3)


@costs(triangular_solve)
def triangular_flops(op, a, b):
    return 1.0 * a.shape[-1] * b.shape[-1] * b.shape[-2]


@costs(tridiagonal_solve)
def tridiagonal_flops(op, dl, d, du, b):
    return d.shape[-1] * (3.0 + 5 * b.shape[-1])


@costs(symmetric_product)
def symmetric_flops(op, a, c):
    m, n = a.shape[-2:]
    return 1.0 * m * (m + 1) * n


@costs(cholesky_update)
def update_flops(op, r, w):
    return 3.0 * r.shape[-1] ** 2


__all__ = ["costs"]
