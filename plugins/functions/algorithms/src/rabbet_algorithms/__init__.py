"""Functions of ``rabbet.lax`` that order, run along and take apart: sorting, running reductions, all prefixes
of an associative operation, products of matrices in groups, slices at positions from several arrays.

``rabbet.lax`` finds them here when one of their names is first used.
"""

from rabbet_algorithms.associative import associative_scan
from rabbet_algorithms.cumulative import cumlogsumexp, cummax, cummin, cumprod, cumsum
from rabbet_algorithms.polynomials import log2, polynomial
from rabbet_algorithms.ragged import RaggedDotDimensionNumbers, ragged_dot, ragged_dot_general, scaled_dot
from rabbet_algorithms.sorting import approx_max_k, approx_min_k, sort, sort_key_val, top_k
from rabbet_algorithms.taking import index_take

__all__ = [
    "RaggedDotDimensionNumbers", "approx_max_k", "approx_min_k", "associative_scan", "cumlogsumexp", "cummax",
    "cummin", "cumprod", "cumsum", "index_take", "log2", "polynomial", "ragged_dot", "ragged_dot_general",
    "scaled_dot", "sort", "sort_key_val", "top_k",
]  # fmt: skip
