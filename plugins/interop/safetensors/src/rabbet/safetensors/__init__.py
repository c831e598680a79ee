"""Arrays in safetensors files, in every dtype that the format has: weights from and for other frameworks."""

from rabbet.extend.functions import public_module as _public_module
from rabbet.safetensors.files import dumps, info, load, loads, metadata, save

__all__ = ["dumps", "info", "load", "loads", "metadata", "save"]

_public_module(globals())
