"""Values of an image between its points."""

import functools
import itertools
import operator
from collections.abc import Sequence

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import array, one_of, where
from rabbet.scipy.ndimage.splines import coefficients, neighbours, position

MODES = (
    "constant", "nearest", "mirror", "wrap", "reflect", "grid-constant", "grid-wrap", "grid-mirror",
)  # fmt: skip
# What the ends that go on as the grid does are called below.
ON_THE_GRID = {"grid-constant": "constant", "grid-wrap": "wrap", "grid-mirror": "reflect"}
MARGIN = 12  # how far ends that go on evenly are written out, for the filter of splines


@fused(static=("order", "mode"))
def map_coordinates(
    input: Array, coordinates: Sequence[Array], order: int, mode: str = "constant", cval: float = 0.0
) -> Array:
    """Values of an array at places between its points.

    Args:
      input: an array of ``n`` dimensions.
      coordinates: ``n`` arrays of one shape (or one array with them along the first axis): where, counted in
        points.
      order: of the spline: 0: the nearest point; 1: linear; 2 to 5: smooth.
      mode: what is beyond the ends, as SciPy has it: ``"constant"``: ``cval``, at once behind the last
        point; ``"grid-constant"``: points of ``cval``, to which values pass over; ``"nearest"``: the last
        point; ``"mirror"`` and ``"reflect"`` (or ``"grid-mirror"``): the mirror image, about the last point
        or the edge behind it; ``"grid-wrap"``: the array again; ``"wrap"``: again too, with the last point
        upon the first. JAX means the two of the grid by ``"constant"`` and ``"wrap"``.
      cval: a number.

    Returns:
      an array of the shape of the coordinates and the dtype of ``input``; integers are rounded.

    Raises:
      ValueError: if there is not one array of coordinates for each dimension, or for an unknown mode.
      NotImplementedError: for an order above 5.

    Example:
      >>> image = rnp.array([[0.0, 1.0], [2.0, 3.0]])
      >>> print(map_coordinates(image, [rnp.array([0.5]), rnp.array([0.25])], order=1))
      [1.25]
    """
    input = array("map_coordinates", input)
    if len(coordinates) != input.ndim:
        raise ValueError(
            f"map_coordinates takes one array of coordinates for each of the {input.ndim} dimensions of "
            f"input, got {len(coordinates)}"
        )
    one_of("map_coordinates", "mode", mode, MODES)
    order = operator.index(order)
    if not 0 <= order <= 5:
        raise NotImplementedError(f"map_coordinates: order must be from 0 to 5, got {order}")
    if not isinstance(coordinates, (list, tuple)):
        coordinates = [coordinates[i] for i in range(input.ndim)]
    coordinates = [c if hasattr(c, "aval") else rnp.asarray(c) for c in coordinates]
    at = dtypes.to_inexact(dtypes.result_type(*coordinates, 1.0)) if coordinates else None
    coordinates = rnp.broadcast_arrays(*[rnp.asarray(c, at) for c in coordinates]) if coordinates else []
    if mode in ("constant", "wrap") and coordinates and input.size:
        inside, within = _within(input.shape, coordinates, mode)
        out = _interpolated(input, within, order, "mirror", 0.0)
        return out if mode == "wrap" else where(inside, out, rnp.asarray(cval, input.dtype))
    return _interpolated(input, coordinates, order, ON_THE_GRID.get(mode, mode), cval)


def _within(shape, coordinates, mode):
    """Which places lie between the points, and places there for all of them."""
    inside, within = None, []
    for c, n in zip(coordinates, shape, strict=True):
        last = float(n - 1)
        here = (c >= 0.0) & (c <= last)
        inside = here if inside is None else inside & here
        again = lax.full_like(c, 0)
        if n > 1 and mode == "wrap":  # whole periods before the first point are the last one, as in SciPy
            turns = where(c < 0.0, -lax.floor(-c / last) - 1.0, lax.floor(c / last))
            again = c - last * turns
        within.append(where(here, c, again))
    return inside, within


def _interpolated(input, coordinates, order, mode, cval):
    """The values, where ends go on as the grid does; ``mode`` is one of ON_THE_GRID's, or SciPy's."""
    if order == 0:
        return _weighed(input, coordinates, 0, mode, cval)
    at = coordinates[0].dtype if coordinates else None
    kind = dtypes.kind(input.dtype)
    values = input if kind in "fc" else rnp.asarray(input, dtypes.promote_types(input.dtype, at))
    if order > 1:
        values, coordinates = _filtered(values, coordinates, order, mode, cval)
    out = _weighed(values, coordinates, order, mode, cval)
    if kind in "fc":
        return rnp.asarray(out, input.dtype)
    return out != 0 if kind == "b" else rnp.asarray(lax.round(out), input.dtype)


def _filtered(values, coordinates, order, mode, cval):
    """The coefficients of the spline, and the coordinates in them."""
    if mode not in ("constant", "nearest"):
        return coefficients(values, order, mode), coordinates
    how = {"mode": "edge"} if mode == "nearest" else {"mode": "constant", "constant_values": cval}
    padded = rnp.pad(values, MARGIN, **how)
    ends = "reflect" if mode == "nearest" else "mirror"
    return coefficients(padded, order, ends), [c + float(MARGIN) for c in coordinates]


def _weighed(values, coordinates, order, mode, cval):
    """The sum of the points around each place, weighed."""
    choices = []
    for c, n in zip(coordinates, values.shape, strict=True):
        first, weights = neighbours(c, order)
        first = rnp.asarray(first, "int32")
        places = [first + i for i in range(len(weights))]
        inside = [(p >= 0) & (p < n) for p in places]
        choices.append([*zip([position(p, n, mode) for p in places], weights, inside, strict=True)])
    cval = rnp.asarray(cval, values.dtype)
    if (order + 1) ** values.ndim > 8:
        return _weighed_at_once(values, choices, mode, cval)
    total = None
    for corner in itertools.product(*choices):
        value = values[tuple([place for place, _, _ in corner])]
        if mode == "constant":
            for _, _, inside in corner:
                value = where(inside, value, cval)
        if order == 0:
            return value
        for _, weight, _ in corner:
            value = value * weight
        total = value if total is None else total + value
    return values if total is None else total


def _weighed_at_once(values, choices, mode, cval):
    """The same sum over new dimensions in front, one for each of ``values``: programs stay small."""
    n = values.ndim
    places, weights, inside = [], [], []
    for d, choice in enumerate(choices):
        for collected, parts in zip((places, weights, inside), zip(*choice, strict=True), strict=True):
            stacked = rnp.stack(parts)
            sizes = [len(parts) if i == d else 1 for i in range(n)]
            collected.append(stacked.reshape((*sizes, *stacked.shape[1:])))
    value = values[tuple(places)]
    if mode == "constant":
        value = where(functools.reduce(operator.and_, inside), value, cval)
    return rnp.sum(value * functools.reduce(operator.mul, weights), tuple(range(n)))


__all__ = ["map_coordinates"]
