"""Taylor mode: the derivatives of a function along a curve, up to any order, in one pass.

``jet`` pushes a truncated Taylor polynomial through a function. Written against ``rabbet`` and
``rabbet.extend`` alone.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.experimental.jet.api import jet

__all__ = ["jet"]

_public_module(globals())
