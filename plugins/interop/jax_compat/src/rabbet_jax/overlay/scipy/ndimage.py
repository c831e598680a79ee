"""``jax.scipy.ndimage``: what is beyond the ends as JAX has it, which programs written for it count on."""

import functools

from rabbet.scipy import ndimage

MEANT = {"constant": "grid-constant", "wrap": "grid-wrap"}


@functools.wraps(ndimage.map_coordinates)
def map_coordinates(input, coordinates, order, mode="constant", cval=0.0):
    return ndimage.map_coordinates(input, coordinates, order, MEANT.get(mode, mode), cval)
