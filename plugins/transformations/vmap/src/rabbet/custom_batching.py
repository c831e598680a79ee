"""Functions that say themselves how they are mapped by ``vmap``."""

from rabbet_vmap.custom_vmap_function import custom_vmap, sequential_vmap

from rabbet.extend.functions import public_module

__all__ = ["custom_vmap", "sequential_vmap"]

public_module(globals())
