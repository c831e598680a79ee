"""Polynomials in pieces: cubic splines, and cubic interpolation that keeps the shape of the data."""

import operator
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, tree
from rabbet.extend.functions import fused
from rabbet.extend.transform import is_tracer
from rabbet.scipy.inputs import array, axis_of, inexact, one_of, where

ENDS = ("not-a-knot", "clamped", "natural", "periodic")


class PPoly:
    """A function that is a polynomial between every two of its places.

    Args:
      c: coefficients of shape ``(k, m, ...)``: the highest power first, of the distance from the left end of
        the piece, for each of ``m`` pieces.
      x: ``m + 1`` places that increase.
      extrapolate: True: the polynomials at the ends go on beyond them; False: NaN there; ``"periodic"``.
      axis: where the places' axis of the values is in the result.

    A function of this kind is a tree of arrays, so other functions can take and return it.

    Example:
      >>> f = PPoly(rnp.array([[1.0, -1.0], [0.0, 1.0]]), rnp.array([0.0, 1.0, 2.0]))
      >>> print(f(rnp.array([0.5, 1.5])), f.integrate(0.0, 2.0))
      [0.5 0.5] 1.0
    """

    def __init__(self, c: Array, x: Array, extrapolate: Any = True, axis: int = 0):
        name = type(self).__name__
        c, x = inexact(name, array(name, c), array(name, x))
        if c.ndim < 2 or x.ndim != 1 or c.shape[1] != x.shape[0] - 1 or c.shape[0] == 0:
            raise ValueError(
                f"{name}: for {x.shape} places the coefficients must have the shape (k, {x.size - 1}, ...), "
                f"got {c.shape}"
            )
        check_increasing(name, x)
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, operator.index(axis)

    @classmethod
    def _made(cls, c, x, extrapolate, axis):
        """A piecewise polynomial of parts that are known to fit."""
        self = object.__new__(PPoly)
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis
        return self

    def __call__(self, x: Array, nu: int = 0, extrapolate: Any = None) -> Array:
        """The values, or derivatives of order ``nu``, at places of any shape; an array of their shape in
        place of the places' axis.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        c = self.derivative(nu).c if nu else self.c
        (at,) = [rnp.asarray(array(type(self).__name__, x), rnp.result_type(x, self.x.dtype))]
        out = evaluated(c, self.x, at, how=extrapolate)
        if self.axis:
            out = rnp.moveaxis(out, range(at.ndim), range(self.axis, self.axis + at.ndim))
        return out

    def derivative(self, nu: int = 1) -> "PPoly":
        """The derivative of order ``nu``, of this kind too."""
        nu = operator.index(nu)
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            powers = np.arange(c.shape[0] - 1, 0, -1).reshape(-1, *[1] * (c.ndim - 1))
            c = c[:-1] * rnp.asarray(powers, c.real.dtype) if c.shape[0] > 1 else rnp.zeros_like(c)
        return PPoly._made(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "PPoly":
        """The integral from the first place on, ``nu`` times."""
        c = self.c
        for _ in range(operator.index(nu)):
            powers = np.arange(c.shape[0], 0, -1).reshape(-1, *[1] * (c.ndim - 1))
            raised = c / rnp.asarray(powers, c.real.dtype)
            h = (self.x[1:] - self.x[:-1]).reshape(-1, *[1] * (c.ndim - 2))
            parts = sum(raised[k] * h ** (c.shape[0] - k) for k in range(c.shape[0]))
            start = rnp.cumsum(parts, 0) - parts
            c = rnp.concatenate([raised, start[None]])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return PPoly._made(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Array, b: Array, extrapolate: Any = None) -> Array:
        """The integral from ``a`` to ``b``, numbers."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise NotImplementedError(
                "integrate: of periodic functions only within a period: extrapolate=False"
            )
        whole = self.antiderivative()
        return whole(rnp.asarray(b), extrapolate=extrapolate) - whole(rnp.asarray(a), extrapolate=extrapolate)

    def tree_flatten(self):
        return (self.c, self.x), (self.extrapolate, self.axis)

    @classmethod
    def tree_unflatten(cls, fixed, parts):
        self = object.__new__(cls)
        self.c, self.x = parts
        self.extrapolate, self.axis = fixed
        return self


def check_increasing(name, x):
    """Refuse known places that do not increase."""
    if not is_tracer(x) and not (np.diff(np.asarray(x)) > 0).all():
        raise ValueError(f"{name}: x must increase strictly")


@fused(static=("how",))
def evaluated(c, x, at, *, how):
    """The polynomials of the pieces at places."""
    n = x.shape[0]
    if how == "periodic":
        at = x[0] + (at - x[0]) % (x[-1] - x[0])
    piece = rnp.clip(rnp.searchsorted(x, at, side="right") - 1, 0, n - 2)
    s = (at - x[piece]).reshape(*at.shape, *[1] * (c.ndim - 2))
    out = c[0, piece]
    for row in c[1:]:
        out = out * s + row[piece]
    if how is False:
        outside = ~((at >= x[0]) & (at <= x[-1])).reshape(s.shape)
        out = where(outside, rnp.nan, out)
    return out


def hermite(x, y, slopes):
    """Coefficients of the cubics with given values and slopes at the places; ``y`` of shape ``(n, ...)``."""
    h = (x[1:] - x[:-1]).reshape(-1, *[1] * (y.ndim - 1))
    rise = (y[1:] - y[:-1]) / h
    left, right = slopes[:-1], slopes[1:]
    bend = (left + right - 2.0 * rise) / h
    return rnp.stack([bend / h, (rise - left) / h - bend, left, y[:-1]])


def opened(name, x, y, axis, least=2):
    """Places and values, the values with their axis in front."""
    x, y = inexact(name, array(name, x), array(name, y))
    axis = axis_of(name, axis, y.ndim)
    y = rnp.moveaxis(y, axis, 0)
    if x.ndim != 1 or x.shape[0] != y.shape[0] or x.shape[0] < least:
        raise ValueError(
            f"{name}: x must be a vector of at least {least} places, as many as there are values along the "
            f"axis, got {x.shape} and {y.shape[:1]}"
        )
    check_increasing(name, x)
    return x, y, axis


class CubicSpline(PPoly):
    """The cubic spline through values: twice continuously differentiable.

    Args:
      x: ``n`` places that increase.
      y: values, ``n`` along ``axis``.
      axis: which axis of ``y`` is that of the places.
      bc_type: what holds at the ends: ``"not-a-knot"``: the first two and the last two pieces are one cubic
        each; ``"natural"``: the second derivative is 0; ``"clamped"``: the first one is; ``"periodic"``:
        all go on from the end to the start. Or a pair of such words or of ``(order, value)``, order 1 or 2,
        for the two ends.
      extrapolate: as for ``PPoly``; None: ``"periodic"`` for that condition, else True.

    Returns:
      a callable ``PPoly``: differentiable by the places, by the values and where it is evaluated.

    Raises:
      ValueError: for an unknown condition, or places that do not increase.

    The slopes are the solution of the system of the conditions (C. de Boor, A practical guide to splines,
    1978, chapter 4), solved as a dense one: meant for up to some thousand places.

    Example:
      >>> f = CubicSpline(rnp.arange(4.0), rnp.arange(4.0) ** 3)
      >>> [round(v, 3) for v in f(rnp.array([0.5, 2.5])).tolist()], round(float(f(1.0, 1)), 3)
      ([0.125, 15.625], 3.0)
    """

    def __init__(
        self, x: Array, y: Array, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ):
        name = "CubicSpline"
        x, y, axis = opened(name, x, y, axis)
        ends = conditions(name, bc_type, y)
        if extrapolate is None:
            extrapolate = "periodic" if ends[0] == "periodic" else True
        kinds = tuple([e if isinstance(e, str) else int(e[0]) for e in ends])
        values = [rnp.zeros(()) if isinstance(e, str) else rnp.asarray(e[1], y.dtype) for e in ends]
        slopes = spline_slopes(x, y, *values, kinds=kinds)
        self.c, self.x, self.extrapolate, self.axis = hermite(x, y, slopes), x, extrapolate, axis


def conditions(name, bc_type, y):
    """A condition for each end: a word, or (order, value)."""
    if isinstance(bc_type, str):
        one_of(name, "bc_type", bc_type, ENDS)
        ends = [bc_type, bc_type]
    elif isinstance(bc_type, (tuple, list)) and len(bc_type) == 2:
        ends = list(bc_type)
    else:
        raise ValueError(f"{name}: bc_type must be a word or a pair, got {bc_type!r:.60}")
    out = []
    for end in ends:
        if isinstance(end, str):
            one_of(name, "bc_type", end, ENDS)
            if end == "periodic" and ends != ["periodic", "periodic"]:
                raise ValueError(f"{name}: both ends must be periodic, got {bc_type!r}")
            end = {"natural": (2, 0.0), "clamped": (1, 0.0)}.get(end, end)
        elif len(end) != 2 or end[0] not in (1, 2):
            raise ValueError(f"{name}: a condition is (1 or 2, value), got {end!r:.60}")
        out.append(end)
    if out[0] == "periodic" and not is_tracer(y) and not np.allclose(y[0], y[-1], rtol=1e-6, atol=1e-6):
        raise ValueError(f"{name}: of a periodic spline the first and the last value must be equal")
    return out


@fused(static=("kinds",))
def spline_slopes(x, y, first, last, *, kinds):
    """The slopes at the places."""
    n = x.shape[0]
    flat = y.reshape(n, -1)
    h = x[1:] - x[:-1]
    rise = (flat[1:] - flat[:-1]) / h[:, None]
    if n == 2:
        kinds = tuple(["line" if k == "not-a-knot" else k for k in kinds])
    if n == 3 and kinds == ("not-a-knot", "not-a-knot"):
        # One parabola.
        bend = (rise[1] - rise[0]) / (h[0] + h[1])
        slopes = [rise[0] - bend * h[0], rise[0] + bend * h[0], rise[1] + bend * h[1]]
        return rnp.stack(slopes).reshape(y.shape)
    matrix, right = rnp.zeros((n, n), h.dtype), rnp.zeros_like(flat)
    if n > 2:
        inner = np.arange(1, n - 1)
        matrix = matrix.at[inner, inner - 1].set(h[1:])
        matrix = matrix.at[inner, inner].set(2.0 * (h[1:] + h[:-1]))
        matrix = matrix.at[inner, inner + 1].set(h[:-1])
        right = right.at[1:-1].set(3.0 * (h[1:, None] * rise[:-1] + h[:-1, None] * rise[1:]))
    if kinds[0] == "periodic":
        if n == 2:
            return rnp.zeros_like(y)
        a, b = h[-1], h[0]
        matrix = matrix.at[0, 0].set(2.0 * (a + b)).at[0, 1].add(a).at[0, n - 2].add(b)
        right = right.at[0].set(3.0 * (a * rise[0] + b * rise[-1]))
        matrix, right = matrix.at[n - 1, 0].set(-1.0).at[n - 1, n - 1].set(1.0), right.at[n - 1].set(0.0)
    else:
        shape = y.shape[1:]
        for kind, value, end, step in ((kinds[0], first, 0, 1), (kinds[1], last, n - 1, -1)):
            given = rnp.broadcast_to(rnp.asarray(value, flat.dtype), shape).reshape(-1)
            near, far = (h[0], h[1 % (n - 1)]) if step == 1 else (h[-1], h[-2 % (n - 1)])
            one, two = (rise[0], rise[1 % (n - 1)]) if step == 1 else (rise[-1], rise[-2 % (n - 1)])
            if kind == 1:
                row, value = [(end, 1.0)], given
            elif kind == 2:
                row, value = [(end, 2.0), (end + step, 1.0)], 3.0 * one - step * 0.5 * given * near
            elif kind == "line":
                row, value = [(end, 1.0)], one
            else:
                row = [(end, far), (end + step, near + far)]
                value = ((near + 2.0 * (near + far)) * far * one + near * near * two) / (near + far)
            for place, weight in row:
                matrix = matrix.at[end, place].set(weight)
            right = right.at[end].set(value)
    return rnp.linalg.solve(rnp.asarray(matrix, flat.dtype), right).reshape(y.shape)


class PchipInterpolator(PPoly):
    """Cubic interpolation that keeps the data's shape: monotone where they are, no overshoot.

    Args:
      x: ``n`` places that increase.
      y: values, ``n`` along ``axis``.
      extrapolate: as for ``PPoly``; None: True.

    Slopes by F. Fritsch and J. Butland (A method for constructing local monotone piecewise cubic
    interpolants, 1984); at the ends from three points, as C. Moler does it. Their derivatives jump where
    data stop to be monotone.

    Example:
      >>> f = PchipInterpolator(rnp.arange(4.0), rnp.array([0.0, 0.0, 1.0, 1.0]))
      >>> print(f(rnp.array([0.5, 1.5, 2.5])))
      [0.  0.5 1. ]
    """

    def __init__(self, x: Array, y: Array, axis: int = 0, extrapolate: Any = None):
        x, y, axis = opened("PchipInterpolator", x, y, axis)
        slopes = monotone_slopes(x, y)
        self.c, self.x, self.axis = hermite(x, y, slopes), x, axis
        self.extrapolate = True if extrapolate is None else extrapolate


@fused
def monotone_slopes(x, y):
    n = x.shape[0]
    h = (x[1:] - x[:-1]).reshape(-1, *[1] * (y.ndim - 1))
    rise = (y[1:] - y[:-1]) / h
    if n == 2:
        return rnp.concatenate([rise, rise])
    before, after = rise[:-1], rise[1:]
    left, right = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    same = before * after > 0
    one, two = where(same, before, 1.0), where(same, after, 1.0)
    inner = where(same, (left + right) / (left / one + right / two), 0.0)
    return rnp.concatenate([_end(h[0], h[1], rise[0], rise[1])[None], inner,
                            _end(h[-1], h[-2], rise[-1], rise[-2])[None]])  # fmt: skip


def _end(near, far, one, two):
    """The slope at an end, of the parabola through three points, as far as that keeps the shape."""
    slope = ((2.0 * near + far) * one - near * two) / (near + far)
    slope = where(slope * one <= 0, 0.0, slope)
    return where((one * two < 0) & (rnp.abs(slope) > 3.0 * rnp.abs(one)), 3.0 * one, slope)


class Akima1DInterpolator(PPoly):
    """Cubic interpolation by slopes that outliers hardly disturb (H. Akima, A new method of interpolation and
    smooth curve fitting based on local procedures, 1970).

    Args:
      x: ``n`` places that increase.
      y: values, ``n`` along ``axis``.
      extrapolate: as for ``PPoly``; None: False, as in SciPy.

    Example:
      >>> f = Akima1DInterpolator(rnp.arange(5.0), rnp.array([0.0, 1.0, 2.0, 3.0, 4.0]))
      >>> print(f(rnp.array([0.5, 2.5])))
      [0.5 2.5]
    """

    def __init__(self, x: Array, y: Array, axis: int = 0, *, extrapolate: Any = None):
        x, y, axis = opened("Akima1DInterpolator", x, y, axis)
        slopes = akima_slopes(x, y)
        self.c, self.x, self.axis = hermite(x, y, slopes), x, axis
        self.extrapolate = False if extrapolate is None else extrapolate


@fused
def akima_slopes(x, y):
    h = (x[1:] - x[:-1]).reshape(-1, *[1] * (y.ndim - 1))
    rise = (y[1:] - y[:-1]) / h
    if x.shape[0] == 2:
        return rnp.concatenate([rise, rise])
    low = 2.0 * rise[0] - rise[1]
    high = 2.0 * rise[-1] - rise[-2]
    m = rnp.concatenate(
        [(2.0 * low - rise[0])[None], low[None], rise, high[None], (2.0 * high - rise[-1])[None]]
    )
    jumps = rnp.abs(m[1:] - m[:-1])
    right, left = jumps[2:], jumps[:-2]
    total = left + right
    flat = total <= 1e-9 * rnp.max(total, initial=0.0)
    mean = 0.5 * (m[3:] + m[:-3])
    weighed = (right * m[1:-2] + left * m[2:-1]) / where(flat, 1.0, total)
    return where(flat, mean, weighed)


for _kind in (PPoly, CubicSpline, PchipInterpolator, Akima1DInterpolator):
    tree.register_node(_kind, lambda f: f.tree_flatten(), _kind.tree_unflatten)

__all__ = ["Akima1DInterpolator", "CubicSpline", "PPoly", "PchipInterpolator"]
