"""Sums, products and extremes of segments: ``jax.ops``.

Each element, or slice along the first dimension, of an array belongs to a segment that an integer names.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.ops.segments import segment_max, segment_min, segment_prod, segment_sum

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

_public_module(globals())
