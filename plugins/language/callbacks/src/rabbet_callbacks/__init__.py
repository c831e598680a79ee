"""Python functions inside programs. ``rabbet.debug``, which is made of them, lies beside this package."""

from rabbet_callbacks.functions import debug_callback, io_callback, look, pure_callback
from rabbet_callbacks.primitives import VMAP_METHODS

__all__ = ["VMAP_METHODS", "debug_callback", "io_callback", "look", "pure_callback"]
