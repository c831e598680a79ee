"""Communication along named axes for ``rabbet.lax``.

``rabbet.lax`` finds it here when one of its names is first used.
"""

from rabbet_collectives.casting import pcast
from rabbet_collectives.functions import (
    all_gather, all_to_all, axis_index, axis_size, pbroadcast, pmax, pmean, pmin, ppermute, pshuffle, psum,
    psum_scatter, pswapaxes,
)  # fmt: skip
from rabbet_collectives.ragged_exchange import ragged_all_to_all
from rabbet_collectives.send_receive import precv, psend

__all__ = [
    "all_gather", "all_to_all", "axis_index", "axis_size", "pbroadcast", "pcast", "pmax", "pmean", "pmin",
    "ppermute", "precv", "psend", "pshuffle", "psum", "psum_scatter", "pswapaxes", "ragged_all_to_all",
]  # fmt: skip
