"""One pytree of arrays saved in a folder, and read under any sharding. For several steps of a program there
is ``rabbet.store.Checkpoints``.
"""

from rabbet_store.tree_folders import load, load_pytreedef, nonblocking_load, nonblocking_save, save

from rabbet.extend.functions import public_module as _public_module

__all__ = ["load", "load_pytreedef", "nonblocking_load", "nonblocking_save", "save"]

_public_module(globals())
