"""The primitives of sorting and of running reductions, each with its rules."""

from rabbet_algorithms.primitives.cumulative import cumlogsumexp, cummax, cummin, cumprod, cumsum
from rabbet_algorithms.primitives.sorting import sort, top_k

__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "sort", "top_k"]
