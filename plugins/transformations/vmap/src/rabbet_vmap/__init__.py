"""``vmap``: a function of single examples becomes a function of batches. See ``interpreter``, then
``api``.
"""

from rabbet.extend.functions import public_module as _public_module

from rabbet_vmap.api import vmap

__all__ = ["vmap"]

_public_module(globals())
