"""Functions that say themselves how they are mapped by ``vmap``."""

from rabbet.extend.functions import fold_public
from rabbet_vmap.custom import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]

fold_public(globals())
