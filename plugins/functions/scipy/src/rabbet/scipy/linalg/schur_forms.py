"""Simpler forms of a square matrix by unitary transformations: Schur and Hessenberg form."""

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.extend.primitive import Batched, Dual, Primitive, move_axis
from rabbet.scipy.inputs import complex_dtype, is_complex, one_of, where
from rabbet.scipy.linalg.matrices import adjoint, batches, diagonal, product, square, wide


# ------------------------------------------------------------------------- columns that follow from each
# other
def column_by_column(n, start, step, reverse=False):
    """Run ``step(j, out)`` for each column. The number of steps is fixed, so this can be differentiated in
    both modes.
    """

    def at(i, out):
        return step(n - 1 - i if reverse else i, out)

    return lax.fori_loop(0, n, at, start)


def column(a, j):
    """The column ``j`` of each matrix, ``j`` being computed."""
    return lax.dynamic_index_in_dim(a, j, a.ndim - 1, keepdims=False)


def with_column(a, x, j):
    """Matrices with their column ``j`` replaced."""
    return lax.dynamic_update_index_in_dim(a, rnp.asarray(x, a.dtype), j, a.ndim - 1)


def shifted_solve(upper, shift, right, rows):
    """The solution of ``(upper + shift) x = right`` for the chosen rows of an upper triangular matrix, zero
    in the others. Where the diagonal is zero, as at equal eigenvalues, it is taken to be 1.

    Args:
      upper: of shape ``(..., n, n)``; what the rows that are left out have in common with the others does not
        matter.
      shift: of shape ``(...)``.
      right: of shape ``(..., n)``.
      rows: booleans of shape ``(n,)``.
    """
    eye = rnp.eye(upper.shape[-1], dtype=upper.dtype)
    both = rows[:, None] & rows[None, :]
    d = diagonal(upper) + shift[..., None]
    d = where(rows & (d != 0), d, 1)
    a = where(both, rnp.triu(upper, 1), 0) + eye * d[..., None]
    x = lax.linalg.triangular_solve(a, where(rows, right, 0)[..., None], left_side=True, lower=False)
    return x[..., 0]


# ------------------------------------------------------------------------------------- the complex Schur form
complex_schur = Primitive(
    "complex_schur", lambda a: (a.update(dtype=complex_dtype(a.dtype)).strong(),) * 2, multiple_results=True,
    doc="the upper triangular Schur form of square matrices, and its vectors, both complex",
)  # fmt: skip


@complex_schur.decompose
def complex_schur_by_routine(op, a):
    """Of real matrices the real form is made complex, which leaves real eigenvalues exactly real."""
    t, z = lax.linalg.schur(a)
    if is_complex(a):
        return [t, z]
    dtype = complex_dtype(a.dtype)
    return list(made_complex(rnp.asarray(t, dtype), rnp.asarray(z, dtype)))


@complex_schur.rule("batch")
def batch_complex_schur(op, a):
    return [Batched(out, 0) for out in op(move_axis(a.value, a.axis, 0))]


@complex_schur.rule("jvp")
def jvp_complex_schur(op, a):
    """From ``z^H a z = t``: with ``m = z^H da z`` and ``z^H dz = l - l^H``, ``dt = m + t (l - l^H) - (l -
    l^H) t``, where ``l`` below the diagonal is what keeps ``dt`` zero there. The equations for ``l`` are a
    triangular system for each column (M. Konstantinov, P. Petkov and N. Christov, Nonlocal perturbation
    analysis of the Schur system of a matrix, 1994). Of the free phase of each vector the choice is to leave
    it.

    Not finite (or, with zeros in the right places, of no meaning) where eigenvalues are equal.
    """
    t, z = op(a.primal)
    m = product(adjoint(z), rnp.asarray(a.tangent, t.dtype), z)
    n = t.shape[-1]
    places = rnp.arange(n)

    def step(j, lower):
        rest = column(m, j) - product(lower, column(t, j)[..., None])[..., 0]
        rows = places > j
        return with_column(
            lower, -shifted_solve(t, -column(diagonal(t)[..., None, :], j)[..., 0], rest, rows), j
        )

    lower = column_by_column(n, rnp.zeros_like(t), step)
    turn = lower - adjoint(lower)
    return [Dual(t, rnp.triu(m + product(t, turn) - product(turn, t))), Dual(z, product(z, turn))]


def schur_of(a):
    """``(t, z)`` for any square matrices, complex and with derivatives."""
    return complex_schur(wide(a))


@fused(static=("output",))
def schur(a: Array, output: str = "real") -> tuple[Array, Array]:
    """The Schur form ``a = z t z^H`` (CPU only).

    Args:
      a: of shape ``(..., n, n)``.
      output: of real matrices: ``"real"``: ``t`` is real, upper triangular but for blocks of two on the
        diagonal that stand for pairs of complex eigenvalues; ``"complex"``: ``t`` is complex and triangular.

    Returns:
      ``(t, z)`` of the shape of ``a``; NaN where the iteration did not converge.

    Derivatives exist for complex ``t`` where all eigenvalues differ. Use what does not depend on the phases
    of the columns of ``z``, which are free. The real form of real matrices has none.

    Raises:
      ValueError: for another ``output``.

    Example:
      >>> t, z = schur(rnp.array([[1.0, 2.0], [0.0, 3.0]]))
      >>> print(t)
      [[1. 2.]
       [0. 3.]]
    """
    one_of("schur", "output", output, ("real", "complex"))
    a = square("schur", a, "a")
    if output == "complex" or is_complex(a):
        t, z = complex_schur(rnp.asarray(a, complex_dtype(a.dtype)))
        return rnp.triu(t), z
    return lax.linalg.schur(a)


@fused(static=("check_finite",))
def rsf2csf(T: Array, Z: Array, check_finite: bool = True) -> tuple[Array, Array]:
    """The complex Schur form from the real one.

    Args:
      T: of shape ``(..., n, n)``, the real form.
      Z: of shape ``(..., n, n)``, its vectors; leading dimensions are broadcast.
      check_finite: not used.

    Returns:
      ``(t, z)``, complex: ``z t z^H = Z T Z^H``, ``t`` upper triangular. Each block of two is made
      triangular by a rotation, from the last one to the first.

    Raises:
      ValueError: for matrices that are not square or of different sizes.

    Example:
      >>> t, z = rsf2csf(rnp.array([[0.0, -4.0], [1.0, 0.0]]), rnp.eye(2))
      >>> print(np.asarray(rnp.diagonal(t)).round(3) + 0.0)
      [0.+2.j 0.-2.j]
    """
    T, Z = square("rsf2csf", T, "T"), square("rsf2csf", Z, "Z")
    if T.shape[-1] != Z.shape[-1]:
        raise ValueError(f"rsf2csf: T and Z must be of one size, got {T.shape} and {Z.shape}")
    dtype = complex_dtype(rnp.result_type(T.dtype, Z.dtype))
    return made_complex(*batches(rnp.asarray(T, dtype), rnp.asarray(Z, dtype)))


def made_complex(T, Z):
    """Rotate each block of two, from the last one to the first."""
    n = T.shape[-1]
    rows = rnp.arange(n)

    def step(i, state):
        t, z = state
        m = n - 1 - i  # the block of the rows m - 1 and m
        k = m - 1
        block = lax.dynamic_slice_in_dim(lax.dynamic_slice_in_dim(t, k, 2, -2), k, 2, -1)
        a, b, c, d = block[..., 0, 0], block[..., 0, 1], block[..., 1, 0], block[..., 1, 1]
        half = (a - d) / 2
        mu = half + rnp.sqrt(half * half + b * c)  # an eigenvalue, less d
        length = rnp.sqrt(rnp.square(rnp.abs(mu)) + rnp.square(rnp.abs(c)))
        needed = c != 0
        safe = where(needed, length, 1)
        x, y = where(needed, mu / safe, 1), where(needed, c / safe, 0)
        turn = rnp.stack([rnp.stack([rnp.conj(x), rnp.conj(y)], -1), rnp.stack([-y, x], -1)], -2)
        pair = lax.dynamic_slice_in_dim(t, k, 2, -2)
        # Left of the block there are zeros, up to roundings of the routine.
        pair = where((rows >= k) & needed[..., None, None], product(turn, pair), pair)
        t = lax.dynamic_update_slice_in_dim(t, pair, k, -2)
        back = adjoint(turn)

        def behind(x):
            old = lax.dynamic_slice_in_dim(x, k, 2, -1)
            new = where(needed[..., None, None], product(old, back), old)
            return lax.dynamic_update_slice_in_dim(x, new, k, -1)

        return behind(t), behind(z)

    T, Z = lax.fori_loop(0, max(n - 1, 0), step, (T, Z)) if n > 1 else (T, Z)
    return rnp.triu(T), Z


@fused(static=("calc_q", "overwrite_a", "check_finite"))
def hessenberg(
    a: Array, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """The Hessenberg form ``a = q h q^H``: ``h`` is zero below the first lower diagonal (CPU only).

    Args:
      a: of shape ``(..., n, n)``.
      calc_q: return ``q`` too.
      overwrite_a, check_finite: not used.

    Returns:
      ``h`` or ``(h, q)``, of the shape of ``a``. There are no derivatives.

    Example:
      >>> print(hessenberg(rnp.array([[1.0, 2.0], [3.0, 4.0]])))
      [[1. 2.]
       [3. 4.]]
    """
    a = square("hessenberg", a, "a")
    dtype, n = a.dtype, a.shape[-1]
    packed, taus = lax.linalg.hessenberg(wide(a))
    h = rnp.asarray(rnp.triu(packed, -1), dtype)
    if not calc_q:
        return h
    q = rnp.broadcast_to(rnp.eye(n, dtype=packed.dtype), packed.shape)
    if n > 1:
        q = q.at[..., 1:, 1:].set(lax.linalg.householder_product(packed[..., 1:, :-1], taus))
    return h, rnp.asarray(q, dtype)


__all__ = ["hessenberg", "rsf2csf", "schur"]
