"""The polar decomposition ``x = u h``, and singular values by it: for platforms without a library.

``u`` is the limit of ``x (a + b x^H x) (1 + c x^H x)^-1``, which moves all singular values to 1 (QDWH:
Y. Nakatsukasa, Z. Bai, F. Gygi, Optimizing Halley's iteration for computing the matrix polar decomposition,
2010). The factors follow from a lower bound of the singular values alone. The bound here is the rounding
error, so the steps are known beforehand: six in double precision, and no loop whose end depends on data.

``x = u h`` and ``h = v w v^H`` give the singular values ``w`` with the vectors ``u v`` and ``v``
(Y. Nakatsukasa, N. Higham, Stable and efficient spectral divide and conquer algorithms, 2013).
"""

import math

from rabbet import dtypes, lax
from rabbet.extend.primitive import full_of_type
from rabbet.extend.rules import to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives import factor_parts
from rabbet.lax.linalg.primitives.cholesky import cholesky
from rabbet.lax.linalg.primitives.eigh import eigh
from rabbet.lax.linalg.primitives.qr import qr
from rabbet.lax.linalg.primitives.triangular import triangular_solve

# Above this factor a step by the Cholesky factor loses digits, and one by QR is taken.
MOST_BY_CHOLESKY = 100.0


def steps(eps):
    """The factors ``(a, b, c)`` of all steps, for singular values from ``eps`` to 1."""
    found = []
    low = eps
    while abs(low - 1.0) > 10 * eps:
        square = low * low
        root = (4.0 * (1.0 - square) / (square * square)) ** (1.0 / 3.0)
        more = math.sqrt(1.0 + root)
        a = more + 0.5 * math.sqrt(8.0 - 4.0 * root + 8.0 * (2.0 - square) / (square * more))
        b = (a - 1.0) ** 2 / 4.0
        c = a + b - 1.0
        found.append((a, b, c))
        low = min(low * (a + b * square) / (1.0 + c * square), 1.0)
    return found


def polar(x, most=None):
    """The factors of ``x``, of shape ``(..., m, n)`` with ``m >= n``.

    Args:
      x: matrices.
      most: how many steps to take at most.

    Returns:
      ``(u, h, before, count)``: ``u`` of the shape of ``x`` with orthonormal columns, ``h`` Hermitian; ``u``
      before the last step; how many steps were taken, an int.
    """
    aval = typeof(x).strong()
    plan = steps(float(dtypes.finfo(aval.dtype).eps))[:most]
    u = times(x, inverse_of_bound(x))
    before = u
    for a, b, c in plan:
        before, u = u, step(u, a, b, c)
    h = matrices.product(matrices.adjoint(u), x)
    h = lax.mul(lax.add(h, matrices.adjoint(h)), full_of_type(typeof(h), 0.5))
    return u, h, before, len(plan)


def times(x, factor):
    """Each matrix times a number of its own, or one number for all."""
    aval = typeof(x)
    if isinstance(factor, float):
        return lax.mul(x, full_of_type(aval.strong(), factor))
    n = aval.ndim
    return lax.mul(x, matrices.beside(to_dtype(factor, aval.dtype), aval.shape, n - 2, n - 1))


def norm(x):
    """The Frobenius norm of each matrix."""
    n = typeof(x).ndim
    return lax.sqrt(lax.reduce_sum(lax.square(lax.abs(x)), axes=(n - 2, n - 1)))


def inverse_of_bound(x):
    """One over the Frobenius norm, which no singular value exceeds; 1 for a matrix of zeros.

    The squares are those of elements by the largest one, so they are neither too large nor all too small.
    """
    n = typeof(x).ndim
    largest = lax.stop_gradient(lax.reduce_max(lax.abs(x), axes=(n - 2, n - 1)))
    one = full_of_type(typeof(largest).strong(), 1)
    largest = lax.select_n(lax.eq(largest, 0.0), largest, one)
    size = norm(times(x, lax.div(one, largest)))
    return lax.div(lax.div(one, lax.select_n(lax.eq(size, 0.0), size, one)), largest)


def step(x, a, b, c):
    """One step of the iteration, by a QR or by a Cholesky decomposition."""
    rest, share = b / c, a - b / c
    aval = typeof(x).strong()
    m, n = aval.shape[-2:]
    eye = matrices.identity(aval.update(shape=(*aval.shape[:-2], n, n)))
    if c > MOST_BY_CHOLESKY:
        both = lax.concatenate([times(x, math.sqrt(c)), eye], dimension=aval.ndim - 2)
        q, _ = qr(both, pivoting=False, full_matrices=False)
        upper = matrices.corner(q, m, n)
        lower = lax.slice(
            q, start_indices=(*(0,) * (aval.ndim - 2), m, 0), limit_indices=typeof(q).shape, strides=None
        )
        moved = times(matrices.product(upper, matrices.adjoint(lower)), share / math.sqrt(c))
        return lax.add(times(x, rest), moved)
    square = lax.add(eye, times(matrices.product(matrices.adjoint(x), x), c))
    factor = cholesky(square)
    side = {"left_side": False, "lower": True, "unit_diagonal": False}
    moved = triangular_solve(factor, x, transpose_a=True, conjugate_a=True, **side)
    moved = triangular_solve(factor, moved, transpose_a=False, conjugate_a=False, **side)
    return lax.add(times(x, rest), times(moved, share))


def svd_by_polar(x, full_matrices, compute_uv):
    """The results of the primitive ``svd``, as a list."""
    m, n = typeof(x).shape[-2:]
    if m < n:
        found = svd_by_polar(matrices.adjoint(x), full_matrices, compute_uv)
        return [matrices.adjoint(found[2]), found[1], matrices.adjoint(found[0])] if compute_uv else found
    q, r = qr(x, pivoting=False, full_matrices=False)
    u, h, _, _ = polar(r)
    v, w = eigh(h, lower=True, sort_eigenvalues=True, implementation=None)
    last = typeof(w).ndim - 1
    s = lax.rev(lax.max(w, full_of_type(typeof(w), 0)), dimensions=(last,))
    if not compute_uv:
        return [s]
    v = lax.rev(v, dimensions=(last + 1,))
    u = orthonormal(matrices.product(q, matrices.product(u, v)), full_matrices)
    return [u, s, matrices.adjoint(v)]


def orthonormal(u, full):
    """``u`` with columns that are lost made orthonormal to the others (those of singular values of zero), and
    ``full``: completed to a square matrix.
    """
    q, r = qr(u, pivoting=False, full_matrices=full)
    k = typeof(u).shape[-1]
    signs = lax.sign(factor_parts.diagonal(matrices.corner(r, k, k)))
    signs = lax.select_n(lax.eq(signs, full_of_type(typeof(signs), 0)), signs, full_of_type(typeof(signs), 1))
    more = typeof(q).shape[-1] - k
    if more:
        lead = typeof(signs).shape[:-1]
        rest = full_of_type(typeof(signs).update(shape=(*lead, more)), 1)
        signs = lax.concatenate([signs, rest], dimension=len(lead))
    return factor_parts.scaled_columns(q, signs)
