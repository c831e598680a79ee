"""Interpolation on a grid of rectangles."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes, tree
from rabbet.extend.functions import fused
from rabbet.extend.transform import is_tracer
from rabbet.scipy.inputs import array, one_of, where

METHODS = ("linear", "nearest")


class RegularGridInterpolator:
    """Interpolation of values on a grid whose lines may lie at any distances.

    Args:
      points: for each dimension a vector of places, increasing or decreasing.
      values: of shape ``(n1, ..., nd, ...)``: the values at the grid's points; each may be an array.
      method: ``"linear"`` or ``"nearest"``.
      bounds_error: raise a ValueError for places outside the grid. Only where they are known: not under
        ``jit`` and other transformations.
      fill_value: what places outside get; None: the values of the spline or point at the edge, continued.

    An interpolator is a tree of arrays, so functions can take and return it.

    Raises:
      ValueError: for an unknown method, or points that do not fit the values.
      TypeError: for lists instead of arrays.

    Example:
      >>> grid = (rnp.array([0.0, 1.0]), rnp.array([0.0, 2.0]))
      >>> f = RegularGridInterpolator(grid, rnp.array([[0.0, 2.0], [10.0, 12.0]]))
      >>> print(f(rnp.array([[0.5, 1.0], [0.0, 3.0]])))
      [ 6. nan]
    """

    def __init__(
        self,
        points: Sequence[Array],
        values: Array,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ):
        name = "RegularGridInterpolator"
        one_of(name, "method", method, METHODS)
        values = array(name, values)
        values = rnp.asarray(values, dtypes.to_inexact(values.dtype))
        grid = [rnp.asarray(array(name, p)) for p in points]
        if len(grid) > values.ndim:
            raise ValueError(f"{name}: {len(grid)} vectors of points for values of {values.ndim} dimensions")
        for i, p in enumerate(grid):
            if p.ndim != 1 or p.shape[0] != values.shape[i]:
                raise ValueError(
                    f"{name}: the points of dimension {i} have shape {p.shape}, but there are "
                    f"{values.shape[i]} values along it"
                )
            if not is_tracer(p) and p.shape[0] > 1:
                steps = np.diff(np.asarray(p))
                if not ((steps > 0).all() or (steps < 0).all()):
                    raise ValueError(
                        f"{name}: the points of dimension {i} must increase or decrease strictly"
                    )
                if steps[0] < 0:
                    grid[i], values = p[::-1], rnp.flip(values, i)
        self.method, self.bounds_error, self.fill_value = method, bool(bounds_error), fill_value
        self.grid, self.values = tuple(grid), values

    def tree_flatten(self):
        return (self.grid, self.values, self.fill_value), (self.method, self.bounds_error)

    @classmethod
    def tree_unflatten(cls, fixed, parts):
        self = object.__new__(cls)
        self.grid, self.values, self.fill_value = parts
        self.method, self.bounds_error = fixed
        return self

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """The values at the places ``xi``.

        Args:
          xi: of shape ``(..., d)``, or a tuple of ``d`` arrays that are broadcast.
          method: instead of the one that the interpolator was made with.

        Returns:
          an array of shape ``(..., *values.shape[d:])``.
        """
        method = self.method if method is None else method
        one_of("RegularGridInterpolator", "method", method, METHODS)
        d = len(self.grid)
        xi = _places(xi, d)
        if self.bounds_error and not is_tracer(xi):
            _check_bounds(self.grid, xi)
        filled = self.fill_value is not None
        fill = self.fill_value if filled else 0.0
        out = _interpolated(self.grid, self.values, xi, fill, method=method, filled=filled)
        return out[None] if xi.ndim == 1 else out


tree.register_node(
    RegularGridInterpolator, lambda x: x.tree_flatten(), RegularGridInterpolator.tree_unflatten
)


def _places(xi, d):
    """The places as one array, with the coordinates along its last axis."""
    if isinstance(xi, (tuple, list)):
        if not isinstance(xi, tuple):
            array("RegularGridInterpolator", xi)
        if len(xi) != d:
            raise ValueError(f"RegularGridInterpolator: {len(xi)} coordinates are given for {d} dimensions")
        xi = rnp.broadcast_arrays(*[array("RegularGridInterpolator", x) for x in xi])
        return rnp.stack([rnp.asarray(x, dtypes.to_inexact(dtypes.result_type(*xi))) for x in xi], -1)
    xi = array("RegularGridInterpolator", xi)
    if xi.ndim == 0 or (xi.ndim == 1 and d == 1 and xi.shape[0] != 1):
        xi = xi[..., None]
    if xi.shape[-1] != d:
        raise ValueError(
            f"RegularGridInterpolator: places of shape {xi.shape} have {xi.shape[-1]} coordinates, but the "
            f"grid has {d} dimensions"
        )
    return xi


def _check_bounds(grid, xi):
    """Refuse places outside the grid."""
    for i, p in enumerate(grid):
        x, p = np.asarray(xi)[..., i], np.asarray(p)
        if not ((x >= p[0]) & (x <= p[-1])).all():
            raise ValueError(f"RegularGridInterpolator: a place is outside the grid in dimension {i}")


@fused(static=("method", "filled"))
def _interpolated(grid, values, xi, fill, *, method, filled):
    """The values at places of shape ``(..., d)``."""
    sides: list[list[tuple[Array, Any]]] = []  # per dimension: places, and their weights (None: 1)
    outside = None
    for i, p in enumerate(grid):
        dtype = dtypes.to_inexact(dtypes.result_type(xi, p))
        x, p = rnp.asarray(xi[..., i], dtype), rnp.asarray(p, dtype)
        n = p.shape[0]
        beyond = ~((x >= p[0]) & (x <= p[-1]))
        outside = beyond if outside is None else outside | beyond
        if n == 1:
            sides.append([(rnp.zeros(x.shape, "int32"), rnp.ones_like(x))])
            continue
        left = rnp.clip(rnp.searchsorted(p, x, side="right") - 1, 0, n - 2)
        share = (x - p[left]) / (p[left + 1] - p[left])
        if method == "nearest":
            sides.append([(where(share <= 0.5, left, left + 1), None)])
        else:
            sides.append([(left, 1 - share), (left + 1, share)])
    total = None
    more = (None,) * (values.ndim - len(grid))
    for corner in itertools.product(*sides):
        value = values[tuple([place for place, _ in corner])]
        for _, weight in corner:
            value = value if weight is None else value * weight[(..., *more)]
        total = value if total is None else total + value
    if not filled:
        return total
    return where(outside[(..., *more)], rnp.asarray(fill, total.dtype), total)
