"""``vmap``: a function of single examples becomes a function of batches. See ``interpreter``, then
``api``.
"""

from rabbet.extend.functions import fold_public as _fold_public

from rabbet_vmap.api import vmap

__all__ = ["vmap"]

_fold_public(globals())
