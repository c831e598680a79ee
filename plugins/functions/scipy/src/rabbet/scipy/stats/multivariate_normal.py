"""The normal distribution of vectors."""

import math

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, one_dtype


@elementwise
def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """The logarithm of the density at ``x``, by a Cholesky factor of the covariance.

    Args:
      x: vectors, of shape ``(..., n)``, or numbers if the mean and the covariance are such.
      mean: of shape ``(..., n)``, or a number for all components.
      cov: covariances, of shape ``(..., n, n)``, positive definite; or a number, the variance of each
      component.
      allow_singular: must be None: there is no density where the covariance is singular.

    Returns:
      an array of the shape that the arguments broadcast to, less the dimensions of vectors. NaN where a
      covariance is not positive definite.

    >>> round(float(stats.multivariate_normal.logpdf(rnp.array([1.0, 0.0]), 0.0, rnp.eye(2))), 4)
    -2.3379
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "multivariate_normal.logpdf: allow_singular must be None: singular covariances are not offered"
        )
    x, mean, cov = one_dtype("multivariate_normal.logpdf", x, mean, cov)
    if not cov.ndim:
        off = x - mean
        size = off * off / cov
        n = off.shape[-1] if off.ndim else 1
        size = size.sum(-1) if off.ndim else size
        return -0.5 * (size + n * lax.log(2.0 * math.pi * cov))
    n = cov.shape[-1]
    if cov.ndim < 2 or cov.shape[-2] != n or any(a.ndim and a.shape[-1] not in (1, n) for a in (x, mean)):
        raise ValueError(
            "multivariate_normal.logpdf: cov must be square matrices of a size n, and the last dimensions "
            f"of x and mean have that size; got the shapes {x.shape} of x, {mean.shape} of mean, "
            f"{cov.shape} of cov"
        )
    off = rnp.broadcast_to(x - mean, rnp.broadcast_shapes((x - mean).shape, (n,)))
    shape = rnp.broadcast_shapes(off.shape[:-1], cov.shape[:-2])
    factor = rnp.linalg.cholesky(cov)
    logs = rnp.log(rnp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    if cov.ndim == 2:  # one factor for all vectors: they are columns of one system
        columns = off.reshape((-1, n)).T
        solved = lax.linalg.triangular_solve(factor, columns, left_side=True, lower=True)
        size = (solved * solved).sum(0).reshape(off.shape[:-1])
    else:
        factor = rnp.broadcast_to(factor, (*shape, n, n))
        column = rnp.broadcast_to(off, (*shape, n))[..., None]
        solved = lax.linalg.triangular_solve(factor, column, left_side=True, lower=True)
        size = (solved * solved).sum((-2, -1))
    return -0.5 * (size + n * math.log(2.0 * math.pi)) - logs


@elementwise
def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """The density at ``x``; arguments as for ``logpdf``.

    >>> round(float(stats.multivariate_normal.pdf(rnp.array([1.0, 0.0]), 0.0, rnp.eye(2))), 4)
    0.0965
    """
    return lax.exp(logpdf(x, mean, cov))


__all__ = ["logpdf", "pdf"]

public_module(globals())
