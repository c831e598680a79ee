"""``jax.ad_checkpoint``: within a rematerialized function the trace is another one, as libraries check."""

from typing import NamedTuple

import rabbet as rb
from rabbet.extend.wrapping import wraps

from rabbet_jax.checkpoint_levels import another_level
from rabbet_jax.primitives_by_name import primitive_named


@wraps(rb.checkpoint)
def checkpoint(fun, **options):
    @wraps(fun)
    def within(*args, **kwargs):
        with another_level():
            return fun(*args, **kwargs)

    return rb.checkpoint(within, **options)


remat = checkpoint


class Offloadable(NamedTuple):
    """What a policy says of a value that is to be kept in another memory."""

    src: str
    dst: str


class RecomputeType:
    """What a policy says of a value that is to be computed again."""

    def __repr__(self):
        return "Recompute"

    def __bool__(self):
        return False


class SaveableType:
    """What a policy says of a value that is to be kept."""

    def __repr__(self):
        return "Saveable"


Recompute, Saveable = RecomputeType(), SaveableType()


def __getattr__(name):
    return primitive_named(name)  # name_p and remat_p


__all__ = ["Offloadable", "Recompute", "Saveable", "checkpoint", "remat"]
