"""Splines as sums of B-splines."""

import operator
from typing import Any

import rabbet.numpy as rnp
from rabbet import Array, tree
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import array, axis_of, inexact, where
from rabbet.scipy.interpolate.cubic_splines import check_increasing, opened


class BSpline:
    """A spline: the sum of B-splines, each times a coefficient.

    Args:
      t: ``n + k + 1`` knots that do not decrease.
      c: ``n`` coefficients (or more, which do not count) along ``axis``.
      k: the degree.
      extrapolate: True: the polynomials at the ends go on beyond them; False: NaN there; ``"periodic"``.
      axis: which axis of ``c`` is that of the B-splines.

    A spline is a tree of arrays, so functions can take and return it; it is differentiable by knots,
    coefficients and places. By the recurrence of C. de Boor (A practical guide to splines, 1978).

    Raises:
      ValueError: if there are too few knots or coefficients.

    Example:
      >>> f = BSpline(rnp.array([0.0, 0.0, 1.0, 2.0, 2.0]), rnp.array([0.0, 1.0, 0.0]), 1)
      >>> print(f(rnp.array([0.5, 1.0, 1.5])))
      [0.5 1.  0.5]
    """

    def __init__(self, t: Array, c: Array, k: int, extrapolate: Any = True, axis: int = 0):
        t, c = inexact("BSpline", array("BSpline", t), array("BSpline", c))
        self.k, self.extrapolate = operator.index(k), extrapolate
        self.axis = axis_of("BSpline", axis, c.ndim)
        self.t, self.c = t, rnp.moveaxis(c, self.axis, 0)
        n = t.shape[0] - self.k - 1
        if self.k < 0 or t.ndim != 1 or n < self.k + 1 or self.c.shape[0] < n:
            raise ValueError(
                f"BSpline: a spline of degree {self.k} takes at least {2 * self.k + 2} knots and {max(n, 0)} "
                f"coefficients for {t.shape[0]} of them, got {self.c.shape[0]}"
            )

    def __call__(self, x: Array, nu: int = 0, extrapolate: Any = None) -> Array:
        """The values, or derivatives of order ``nu``, at places of any shape."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        spline = self.derivative(nu) if nu else self
        at = rnp.asarray(array("BSpline", x), rnp.result_type(x, self.t.dtype))
        out = evaluated(spline.t, spline.c, at, k=spline.k, how=extrapolate)
        if self.axis:
            out = rnp.moveaxis(out, range(at.ndim), range(self.axis, self.axis + at.ndim))
        return out

    def derivative(self, nu: int = 1) -> "BSpline":
        """The derivative of order ``nu``, a spline of a lower degree."""
        t, c, k = self.t, self.c, self.k
        for _ in range(operator.index(nu)):
            n = t.shape[0] - k - 1
            if k == 0:
                c = rnp.zeros_like(c)
                continue
            width = t[k + 1 : n + k] - t[1:n]
            width = where(width == 0, 1.0, width).reshape(-1, *[1] * (c.ndim - 1))
            c = k * (c[1:n] - c[: n - 1]) / width
            t, k = t[1:-1], k - 1
        return BSpline._made(t, c, k, self.extrapolate, self.axis)

    @classmethod
    def _made(cls, t, c, k, extrapolate, axis):
        self = object.__new__(cls)
        self.t, self.c, self.k, self.extrapolate, self.axis = t, c, k, extrapolate, axis
        return self

    def tree_flatten(self):
        return (self.t, self.c), (self.k, self.extrapolate, self.axis)

    @classmethod
    def tree_unflatten(cls, fixed, parts):
        return cls._made(*parts, *fixed)


tree.register_node(BSpline, lambda f: f.tree_flatten(), BSpline.tree_unflatten)


def interval(t, at, k):
    """The number of the knot at or before each place, of those between which there is a spline."""
    n = t.shape[0] - k - 1
    return rnp.clip(rnp.searchsorted(t, at, side="right") - 1, k, n - 1)


@fused(static=("k", "how"))
def evaluated(t, c, at, *, k, how):
    """De Boor's recurrence at every place."""
    n = t.shape[0] - k - 1
    if how == "periodic":
        at = t[k] + (at - t[k]) % (t[n] - t[k])
    place = interval(t, at, k)
    if k:  # the last knot belongs to the last interval that is not empty
        inside = rnp.searchsorted(t, t[n], side="left") - 1
        place = rnp.minimum(place, rnp.maximum(inside, k))
    more = [1] * (c.ndim - 1)
    d = [c[place - k + i] for i in range(k + 1)]
    for r in range(1, k + 1):
        for i in range(k, r - 1, -1):
            left, right = t[place - k + i], t[place + 1 + i - r]
            width = right - left
            share = where(width == 0, 0.0, (at - left) / where(width == 0, 1.0, width))
            share = share.reshape(*at.shape, *more)
            d[i] = (1.0 - share) * d[i - 1] + share * d[i]
    out = d[k]
    if how is False:
        outside = ~((at >= t[k]) & (at <= t[n]))
        out = where(outside.reshape(*at.shape, *more), rnp.nan, out)
    return out


@fused(static=("k",))
def fitted(t, x, y, *, k):
    """The coefficients of the spline through values, one condition for each B-spline."""
    n = x.shape[0]
    design = evaluated(t, rnp.eye(n, dtype=x.dtype), x, k=k, how=True)
    return rnp.linalg.solve(rnp.asarray(design, y.dtype), y.reshape(n, -1)).reshape(y.shape)


def make_interp_spline(
    x: Array, y: Array, k: int = 3, t: Array | None = None, bc_type: Any = None, axis: int = 0
) -> BSpline:
    """The spline of degree ``k`` through values.

    Args:
      x: ``n`` places that increase.
      y: values, ``n`` along ``axis``.
      k: the degree, odd, or with ``t`` any.
      t: ``n + k + 1`` knots; None: the places without those next to the ends (``"not-a-knot"``).
      bc_type: must be None or ``"not-a-knot"``; ``CubicSpline`` has other conditions.

    Raises:
      ValueError: for too few places, or an even degree without knots. NotImplementedError: for another
        ``bc_type``.

    The system of the conditions is solved as a dense one: meant for up to some thousand places.

    Example:
      >>> f = make_interp_spline(rnp.arange(5.0), rnp.arange(5.0) ** 2)
      >>> [round(v, 3) for v in f(rnp.array([0.5, 3.5])).tolist()]
      [0.25, 12.25]
    """
    name = "make_interp_spline"
    k = operator.index(k)
    if bc_type not in (None, "not-a-knot"):
        raise NotImplementedError(
            f"{name}: bc_type must be None or 'not-a-knot', got {bc_type!r:.60}; CubicSpline "
            "has other conditions"
        )
    x, y, axis = opened(name, x, y, axis, max(k, 0) + 1)
    check_increasing(name, x)
    n = x.shape[0]
    if t is None:
        if k < 0 or (k % 2 == 0 and k):
            raise ValueError(f"{name}: k must be odd where no knots are given, got {k}")
        skipped = (k + 1) // 2
        inner = x[skipped : n - skipped] if k else x[1:]
        t = rnp.concatenate([rnp.repeat(x[:1], k + 1), inner, rnp.repeat(x[-1:], k + 1)])
    t = rnp.asarray(t, x.dtype)
    if t.shape != (n + k + 1,):
        raise ValueError(f"{name}: {n} places and degree {k} take {n + k + 1} knots, got {t.shape}")
    return BSpline._made(t, fitted(t, x, y, k=k), k, True, axis)


__all__ = ["BSpline", "make_interp_spline"]
