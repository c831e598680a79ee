"""Arrays written and read one by one, where tensorstore specs say: ``serialization``; and one pytree in a
folder: ``pytree_serialization``.
"""

from . import pytree_serialization as pytree_serialization
from . import serialization as serialization

from rabbet.extend.functions import public_module as _public_module

__all__ = ["pytree_serialization", "serialization"]

_public_module(globals())
