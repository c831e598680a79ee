"""Functions of matrices by their Schur form: the square root, and any function of numbers."""

from collections.abc import Callable

from rabbet_autodiff import custom_jvp

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import complex_dtype, where
from rabbet.scipy.linalg.matrices import adjoint, diagonal, identity_like, norm1, product, square, wide
from rabbet.scipy.linalg.schur_forms import column, column_by_column, schur_of, shifted_solve, with_column
from rabbet.scipy.linalg.spectral_functions import applied
from rabbet.scipy.linalg.sylvester import from_schur, implicitly


@fused(static=("blocksize",))
def sqrtm(A: Array, blocksize: int = 1) -> Array:
    """The principal square root of matrices: ``x x = A``, no eigenvalue of ``x`` with a negative real part
    (CPU only).

    Args:
      A: of shape ``(..., n, n)``.
      blocksize: not used.

    Returns:
      of the shape of ``A``, complex. For a singular ``A`` there may be no root; the result is NaN then, or
      not exact where roundings hide it.

    Derivatives are solutions of ``x dx + dx x = dA``, which exist where no two eigenvalues of ``x`` add up to
    zero.

    By the Schur form, column by column (A. Bjorck and S. Hammarling, A Schur method for the square root of a
    matrix, 1983).

    Example:
      >>> print(sqrtm(rnp.array([[4.0, 0.0], [0.0, 9.0]])).real)
      [[2. 0.]
       [0. 3.]]
    """
    A = square("sqrtm", A, "A")
    return root(wide(A))


def root_parts(A):
    """The square root of the Schur form of complex matrices, and its vectors."""
    t, z = schur_of(A)
    return root_of(t), z


def root_of(t):
    """The square root of triangular complex matrices."""
    n = t.shape[-1]
    d = diagonal(t)
    # A negative number has the root with a positive imaginary part, whatever the sign of its zero is.
    d = rnp.sqrt(lax.complex(d.real, where(d.imag == 0, 0, d.imag)))
    places = rnp.arange(n)

    def step(j, r):
        x = shifted_solve(r, column(d[..., None, :], j)[..., 0], column(t, j), places < j)
        # Equal eigenvalues of 0 with something left between them: there is no root.
        sums = diagonal(r) + column(d[..., None, :], j)
        x = where((places < j) & (sums == 0) & (x != 0), rnp.nan, x)
        x = where(places == j, d, x)
        return with_column(r, x, j)

    return column_by_column(n, identity_like(t) * d[..., None, :], step)


@custom_jvp
def root(A):
    """The square root of real or complex matrices, complex."""
    r, z = root_parts(A)
    return product(z, r, adjoint(z))


@root.defjvp
def jvp_root(primals, tangents):
    """Sylvester's equation, with the Schur form of the root, which is at hand."""
    (A,), (change,) = primals, tangents
    r, z = root_parts(lax.stop_gradient(A))
    x = root(A)

    def solve(C):
        return from_schur((r, z), (r, z), C)

    return x, implicitly(x, x, rnp.asarray(change, x.dtype), solve, solve)


@fused(static=("func", "disp"))
def funm(A: Array, func: Callable[[Array], Array], disp: bool = True) -> Array | tuple[Array, Array]:
    """A function of numbers applied to matrices, through their eigenvalues (CPU only).

    Args:
      A: of shape ``(..., n, n)``.
      func: takes and returns complex numbers, element by element; analytic.
      disp: False: return ``(f, error)``, an estimate of the relative error of each matrix.

    Returns:
      of the shape of ``A``, complex.

    By the Schur form and B. Parlett's recurrence (A recurrence among the elements of functions of triangular
    matrices, 1976), which divides by differences of eigenvalues: matrices that are not normal and have
    eigenvalues that are nearly equal get a large error.

    Derivatives, of any order, are sums over divided differences, see ``funm_hermitian``; eigenvalues may be
    equal as long as there are enough eigenvectors, and where there are not they are NaN.

    Raises:
      ValueError: for other shapes, or if ``func`` makes no number of a number.

    Example:
      >>> print(np.asarray(funm(rnp.array([[0.0, 1.0], [0.0, 1.0]]), rnp.exp).real).round(3) + 0.0)
      [[1.    1.718]
       [0.    2.718]]
    """
    A = square("funm", A, "A")
    a = rnp.asarray(wide(A), complex_dtype(A.dtype))
    out = applied("funm", func, a, False)
    if disp:
        return out
    t, z = schur_of(lax.stop_gradient(a))
    return out, error_of(t, product(adjoint(z), lax.stop_gradient(out), z))


@fused(static=("func",))
def funm_hermitian(A: Array, func: Callable[[Array], Array]) -> Array:
    """A function of real numbers applied to Hermitian matrices: ``v diag(func(w)) v^H``.

    Args:
      A: of shape ``(..., n, n)``; the mean of a matrix and its adjoint is used.
      func: takes real numbers and returns real or complex ones, element by element. It may close over
        arrays, which have derivatives too.

    Returns:
      of the shape of ``A``; complex if ``A`` or what ``func`` returns is.

    Use this rather than ``eigh`` wherever derivatives are wanted: eigenvectors are not functions of a matrix
    where eigenvalues are equal, and their derivatives are infinite or NaN there, but those of
    ``funm_hermitian`` are right, in both modes and of any order. They are sums over divided differences of
    ``func`` (Y. Daleckii and S. Krein, 1965), for equal and nearly equal eigenvalues by derivatives of
    ``func``. A derivative of order ``k`` takes ``n ** (k + 1)`` numbers of memory, some thirty times.

    ``func`` need be smooth only at the eigenvalues: with a step between them the result is a projector. For a
    function of singular values, ``u diag(f(s)) vh``, take ``u, p = polar(a)`` and then
    ``u @ funm_hermitian(p, f)``.

    Raises:
      ValueError: for other shapes, or if ``func`` makes no number of a number.

    Example:
      >>> import rabbet as rb
      >>> a = rnp.diag(rnp.array([4.0, 1.0, 1.0]))
      >>> root = lambda a: funm_hermitian(a, lambda w: 1 / rnp.sqrt(w))
      >>> print(np.asarray(rb.grad(lambda a: root(a)[1, 2])(a)).round(3) + 0.0)
      [[ 0.    0.    0.  ]
       [ 0.    0.   -0.25]
       [ 0.   -0.25  0.  ]]
    """
    A = square("funm_hermitian", A, "A")
    a = wide(A)
    out = applied("funm_hermitian", func, (a + adjoint(a)) * 0.5, True)
    return out if rnp.issubdtype(out.dtype, rnp.complexfloating) else rnp.asarray(out, A.dtype)


def error_of(t, f):
    """The estimate of G. Golub and C. van Loan (Matrix computations, chapter 9): roundings are enlarged by
    the smallest difference of eigenvalues that lie in one block.
    """
    d = diagonal(t)
    n = t.shape[-1]
    eps = float(rnp.finfo(t.dtype).eps)
    apart = rnp.abs(d[..., :, None] - d[..., None, :])
    if not n:
        return rnp.full(t.shape[:-2], eps, apart.dtype)
    off = rnp.triu(rnp.ones((n, n), bool), 1)
    least = rnp.minimum(rnp.min(where(off, apart, rnp.inf), (-2, -1)), rnp.abs(t[..., 0, 0]))
    error = eps / where(least == 0, eps, least) * norm1(rnp.triu(t, 1))
    error = rnp.minimum(1.0, rnp.maximum(eps, error))
    return where(rnp.all(rnp.isfinite(f), (-2, -1)), error, rnp.inf)


__all__ = ["funm", "funm_hermitian", "sqrtm"]
