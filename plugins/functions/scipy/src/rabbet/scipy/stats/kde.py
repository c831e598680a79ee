"""Densities estimated from samples by normal kernels."""

import math
from typing import Any

import rabbet.numpy as rnp
from rabbet import Array, lax, tree
from rabbet.extend.functions import folded, public_module
from rabbet.scipy.arguments import ArrayLike, check, one_dtype
from rabbet.scipy.special.error_values import normal
from rabbet.scipy.special.numerics import choose

FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


@folded
class gaussian_kde:
    """The density from which samples may have come, as the mean of normal densities around them.

    Args:
      dataset: samples, of shape ``(n,)`` or ``(d, n)``.
      bw_method: how wide the kernels are, in units of the samples' covariance: ``"scott"`` (the default),
        ``"silverman"``, a number, or a function from the estimate to a number.
      weights: of the samples, of shape ``(n,)``, positive; they need not add up to 1.

    Attributes:
      dataset, weights: as arrays, of shapes ``(d, n)`` and ``(n,)``; the weights add up to 1.
      neff: how many equally weighted samples they are worth.
      covariance, inv_cov: of a kernel, and its inverse, of shape ``(d, d)``.
      d, n: the numbers of dimensions and of samples.

    An estimate is a pytree: it goes through ``jit``, ``vmap`` and ``grad``. It does not change; make a new
    one for another bandwidth.

    >>> estimate = stats.gaussian_kde(rnp.array([-1.0, 0.0, 1.0]), 0.5)
    >>> round(float(estimate(0.0)[0]), 4)
    0.3379
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any
    __slots__ = FIELDS

    def __init__(self, dataset: ArrayLike, bw_method: Any = None, weights: ArrayLike | None = None):
        check("gaussian_kde", dataset)
        (dataset,) = one_dtype("gaussian_kde", rnp.atleast_2d(dataset))
        if dataset.ndim != 2 or dataset.shape[1] < 2:
            raise ValueError(
                "gaussian_kde: dataset must be two samples or more, of shape (n,) or (d, n), got "
                f"{dataset.shape}"
            )
        n = dataset.shape[1]
        if weights is None:
            weights = lax.full_like(dataset, 1.0 / n, shape=(n,))
        else:
            dataset, weights = one_dtype("gaussian_kde", dataset, rnp.atleast_1d(weights))
            if weights.shape != (n,):
                raise ValueError(f"gaussian_kde: weights must have the shape {(n,)}, got {weights.shape}")
            weights = weights / weights.sum()
        self.dataset, self.weights = dataset, weights
        self.neff = 1.0 / (weights * weights).sum()
        spread = rnp.atleast_2d(rnp.cov(dataset, bias=False, aweights=weights))
        factor = lax.convert_element_type(self._factor(bw_method), dataset.dtype)
        self.covariance = lax.convert_element_type(spread, dataset.dtype) * factor * factor
        self.inv_cov = rnp.linalg.inv(self.covariance)

    def _factor(self, method):
        if method is None or (isinstance(method, str) and method == "scott"):
            return self.neff ** (-1.0 / (self.d + 4))
        if isinstance(method, str):
            if method == "silverman":
                return (self.neff * (self.d + 2) / 4.0) ** (-1.0 / (self.d + 4))
            raise ValueError(
                "gaussian_kde: bw_method must be 'scott', 'silverman', a number or a function, got "
                f"{method!r}"
            )
        return method(self) if callable(method) else method

    def tree_flatten(self):
        """The arrays; there is nothing else."""
        return tuple([getattr(self, name) for name in FIELDS]), None

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        """An estimate of the arrays."""
        new = object.__new__(cls)
        for name, value in zip(FIELDS, children, strict=True):
            setattr(new, name, value)
        return new

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.dataset.shape[1]

    def _points(self, name, points):
        points, _ = one_dtype(f"gaussian_kde.{name}", rnp.atleast_2d(points), self.dataset)
        if points.shape[0] != self.d:
            if points.shape != (1, self.d):
                raise ValueError(
                    f"gaussian_kde.{name}: points must have the shape (m,) or ({self.d}, m), got "
                    f"{points.shape}"
                )
            points = points.T  # one point, as in SciPy
        return points

    def logpdf(self, x: ArrayLike) -> Array:
        """The logarithm of the density at points of shape ``(m,)`` or ``(d, m)``; an array of shape
        ``(m,)``.
        """
        points = self._points("logpdf", x)
        factor = rnp.linalg.cholesky(self.covariance)
        logs = rnp.log(rnp.diagonal(factor)).sum()
        return (
            _log_mixture(points, self.dataset, self.weights, factor)
            - logs
            - 0.5 * self.d * math.log(2 * math.pi)
        )

    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points of shape ``(m,)`` or ``(d, m)``; an array of shape ``(m,)``."""
        return lax.exp(self.logpdf(self._points("evaluate", points)))

    __call__ = evaluate

    def pdf(self, x: ArrayLike) -> Array:
        """The density: ``evaluate``."""
        return self.evaluate(x)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the density times that of a normal distribution.

        Args:
          mean: of shape ``(d,)``.
          cov: of shape ``(d, d)``.
        """
        mean, cov = one_dtype("gaussian_kde.integrate_gaussian", rnp.atleast_1d(mean), rnp.atleast_2d(cov))
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise ValueError(
                f"gaussian_kde.integrate_gaussian: mean must have the shape {(self.d,)} and cov "
                f"{(self.d, self.d)}, got {mean.shape} and {cov.shape}"
            )
        return self._overlap(self.dataset, self.weights, mean[:, None], self.covariance + cov)[0]

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The probability between two bounds, in one dimension."""
        if self.d != 1:
            raise ValueError(
                f"gaussian_kde.integrate_box_1d: the samples must have 1 dimension, they have {self.d}"
            )
        width = rnp.sqrt(self.covariance[0, 0])
        at = self.dataset[0]
        low, high = ((rnp.asarray(b) - at) / width for b in (low, high))
        # The side with the small probabilities has the digits.
        right = low > 0.0
        upper, lower = choose(right, -low, high), choose(right, -high, low)
        return (self.weights * (normal(upper) - normal(lower))).sum()

    def integrate_kde(self, other: "gaussian_kde") -> Array:
        """The integral of the product with the density of another estimate of the same dimension."""
        if other.d != self.d:
            raise ValueError(
                f"gaussian_kde.integrate_kde: the estimates have {self.d} and {other.d} dimensions"
            )
        sums = self._overlap(self.dataset, self.weights, other.dataset, self.covariance + other.covariance)
        return (sums * other.weights).sum()

    def _overlap(self, dataset, weights, points, covariance):
        factor = rnp.linalg.cholesky(covariance)
        logs = rnp.log(rnp.diagonal(factor)).sum() + 0.5 * self.d * math.log(2 * math.pi)
        return lax.exp(_log_mixture(points, dataset, weights, factor) - logs)

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Array:
        """Draws from the density, of shape ``(d, *shape)``.

        Args:
          key: a random key.
          shape: of the draws.
        """
        import rabbet.random as random

        which, moves = random.split(key)
        chosen = random.choice(which, self.n, shape, p=self.weights)
        factor = rnp.linalg.cholesky(self.covariance)
        noise = random.normal(moves, (self.d, *tuple(shape)), self.dataset.dtype)
        return self.dataset[:, chosen] + rnp.tensordot(factor, noise, 1)

    def integrate_box(
        self, low_bounds: ArrayLike, high_bounds: ArrayLike, maxpts: int | None = None
    ) -> Array:
        """Not offered, as in JAX: there is no rule for boxes of several dimensions.

        Raises:
          NotImplementedError: naming ``integrate_box_1d``.
        """
        raise NotImplementedError(
            "gaussian_kde.integrate_box is not offered; use integrate_box_1d in one dimension"
        )

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not offered, as in JAX: an estimate does not change.

        Raises:
          NotImplementedError: saying to make a new one.
        """
        raise NotImplementedError(
            "gaussian_kde.set_bandwidth: an estimate does not change; make a new one, "
            "gaussian_kde(dataset, bw_method)"
        )


tree.register_node(gaussian_kde, lambda x: x.tree_flatten(), gaussian_kde.tree_unflatten)


def _log_mixture(points, dataset, weights, factor):
    """At each point the logarithm of the weighted sum of ``exp(-distance ** 2 / 2)`` to the samples, where
    distances are measured by a Cholesky factor.
    """
    white = [lax.linalg.triangular_solve(factor, x, left_side=True, lower=True) for x in (dataset, points)]
    off = white[0][:, :, None] - white[1][:, None, :]
    logs = -0.5 * (off * off).sum(0) + rnp.log(weights)[:, None]
    top = lax.stop_gradient(logs).max(0)
    top = choose(lax.abs(top) < math.inf, top, 0.0)
    return rnp.log(rnp.exp(logs - top).sum(0)) + top


__all__ = ["gaussian_kde"]

public_module(globals())
