"""Sums, products and extremes of segments: the field's ``jax.ops``.

Each element, or slice along the first dimension, of an array belongs to a segment that an integer names.
"""

from rabbet.extend import fold_public as _fold_public
from rabbet.ops.segments import segment_max, segment_min, segment_prod, segment_sum

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

_fold_public(globals())
