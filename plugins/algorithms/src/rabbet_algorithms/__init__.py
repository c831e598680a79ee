"""Functions of ``rabbet.lax`` that are programs over its others: all prefixes of an associative operation,
products of matrices in groups, slices at positions from several arrays.

``rabbet.lax`` finds them here when one of their names is first used.
"""

from rabbet_algorithms.associative import associative_scan
from rabbet_algorithms.ragged import RaggedDotDimensionNumbers, ragged_dot, ragged_dot_general, scaled_dot
from rabbet_algorithms.taking import index_take

__all__ = [
    "RaggedDotDimensionNumbers", "associative_scan", "index_take", "ragged_dot", "ragged_dot_general",
    "scaled_dot",
]  # fmt: skip
