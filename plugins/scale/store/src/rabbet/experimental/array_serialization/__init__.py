"""Arrays written and read one by one, where tensorstore specs say: ``serialization``."""

from . import serialization as serialization

from rabbet.extend.functions import public_module as _public_module

__all__ = ["serialization"]

_public_module(globals())
