"""Sums, products and extremes of segments: ``jax.ops``; and stacks of arrays of different lengths.

Each element, or slice along the first dimension, of an array belongs to a segment that an integer names.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.ops.ragged import pad_ragged, unpad_ragged
from rabbet.ops.segments import segment_max, segment_min, segment_prod, segment_sum

__all__ = [
    "pad_ragged", "segment_max", "segment_min", "segment_prod", "segment_sum", "unpad_ragged",
]  # fmt: skip

_public_module(globals())
