"""The logarithm of matrices, and powers that are not whole numbers."""

import math

import numpy as np
from rabbet_autodiff import custom_jvp

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import where
from rabbet.scipy.linalg.exponential import expm, expm_frechet
from rabbet.scipy.linalg.functions import root_of
from rabbet.scipy.linalg.matrices import (
    adjoint,
    diagonal,
    identity_like,
    norm1,
    product,
    square,
    transposed,
    wide,
)
from rabbet.scipy.linalg.schur_forms import schur_of
from rabbet.scipy.linalg.systems import solve_triangular

NEAR = 0.25  # how near the identity a matrix must be for so many NODES of Gauss and Legendre
NODES = 8
MOST_ROOTS = 100


@fused(static=("disp",))
def logm(A: Array, disp: bool = True) -> Array | tuple[Array, Array]:
    """The principal logarithm of matrices: ``expm`` of it is ``A``, and its eigenvalues have imaginary parts
    from -pi to pi (CPU only).

    Args:
      A: of shape ``(..., n, n)``.
      disp: False: return ``(L, error)``, how far ``expm`` of the result is from ``A``, relative to it.

    Returns:
      of the shape of ``A``, complex. For a singular ``A`` there is none, and the result is not finite.

    Derivatives are solutions of ``expm_frechet(L, dL) = dA``; of any order.

    By the Schur form, square roots until it is near the identity, and the integral of ``X (I + t X)^-1`` by
    the rule of Gauss and Legendre (N. J. Higham, Evaluating Pade approximants of the matrix logarithm, 2001).

    Example:
      >>> out = logm(rnp.array([[1.0, 1.0], [0.0, 1.0]]))
      >>> bool(rnp.allclose(out, rnp.array([[0.0, 1.0], [0.0, 0.0]]), atol=1e-6))
      True
    """
    A = square("logm", A, "A")
    out = logarithm(wide(A))
    if disp:
        return out
    return out, norm1(expm(out) - A) / norm1(A)


@custom_jvp
def logarithm(a):
    """The logarithm of complex matrices."""
    return by_roots(a)


@logarithm.defjvp
def jvp_logarithm(primals, tangents):
    (a,), (change,) = primals, tangents
    out = logarithm(a)

    def moved(x):
        return expm_frechet(out, x, compute_expm=False)

    def solve(_, right):
        return of_blocks(lax.stop_gradient(a), right)

    def solve_transposed(_, right):
        return of_blocks(transposed(lax.stop_gradient(a)), right)

    return out, lax.custom_linear_solve(moved, rnp.asarray(change, out.dtype), solve, solve_transposed)


def of_blocks(a, change):
    """The derivative in a direction: a corner of the logarithm of ``[[a, change], [0, a]]``."""
    n = a.shape[-1]
    size = norm1(change)[..., None, None]
    size = where(size == 0, 1.0, size) / where(norm1(a) == 0, 1.0, norm1(a))[..., None, None]
    upper = rnp.concatenate([a, change / size], -1)
    lower = rnp.concatenate([rnp.zeros_like(a), a], -1)
    return by_roots(rnp.concatenate([upper, lower], -2))[..., :n, n:] * size


def by_roots(a):
    """The logarithm, by square roots of the Schur form."""
    t, z = schur_of(a)
    eye = identity_like(t)
    start = diagonal(t)
    start = lax.complex(start.real, where(start.imag == 0, 0, start.imag))  # -0 is on the same side as 0

    def far(t):
        return (norm1(t - eye) > NEAR)[..., None, None]

    def more(state):
        k, t, _ = state
        return (k < MOST_ROOTS) & rnp.any(far(t))

    def step(state):
        k, t, scale = state
        on = far(t)
        return k + 1, where(on, root_of(t), t), where(on[..., 0, 0], 2.0 * scale, scale)

    scale = rnp.ones(t.shape[:-2], t.real.dtype)
    _, t, scale = lax.while_loop(more, step, (0, t, scale))
    x = t - eye
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    total = rnp.zeros_like(x)
    for node, weight in zip(0.5 * (nodes + 1), 0.5 * weights, strict=True):
        total = total + weight * solve_triangular(eye + node * x, x)
    total = total * scale[..., None, None]
    total = where(eye != 0, rnp.log(start)[..., None, :] * eye, total)
    return product(z, total, adjoint(z))


def fractional_matrix_power(A: Array, t: float) -> Array:
    """A real power of matrices (CPU only, unless ``t`` is a whole number).

    Args:
      A: of shape ``(..., n, n)``.
      t: a number. If it is traced, the power is ``expm(t logm(A))``.

    Returns:
      of the shape of ``A``, complex for a power that is no whole number. Derivatives by both, of any order.

    The whole part by products, the rest by ``expm`` and ``logm``.

    Example:
      >>> out = fractional_matrix_power(rnp.array([[4.0, 0.0], [0.0, 9.0]]), 1.5)
      >>> bool(rnp.allclose(out, rnp.array([[8.0, 0.0], [0.0, 27.0]]), rtol=1e-5))
      True
    """
    A = square("fractional_matrix_power", A, "A")
    if hasattr(t, "aval"):
        return expm(t * logm(A))
    t = float(t)
    if t == math.floor(t):
        return rnp.linalg.matrix_power(A, int(t))
    whole = math.floor(t) if abs(t) < 64 else 0
    rest = expm((t - whole) * logm(A))
    return product(rnp.linalg.matrix_power(wide(A), whole), rest) if whole else rest


__all__ = ["fractional_matrix_power", "logm"]
