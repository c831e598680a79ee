"""``jax.ad_checkpoint``: within a rematerialized function the trace is another one, as libraries check."""

import rabbet as rb
from rabbet.extend.wrapping import wraps

from rabbet_jax.levels import another_level


@wraps(rb.checkpoint)
def checkpoint(fun, **options):
    @wraps(fun)
    def within(*args, **kwargs):
        with another_level():
            return fun(*args, **kwargs)

    return rb.checkpoint(within, **options)


remat = checkpoint

__all__ = ["checkpoint", "remat"]
