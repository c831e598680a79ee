"""``vmap``: a function of single examples becomes a function of batches. See ``interpreter``, then
``api``.
"""

from rabbet_vmap.api import vmap

__all__ = ["vmap"]
