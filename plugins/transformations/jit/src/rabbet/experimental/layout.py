"""How the dimensions of arrays lie in memory."""

from rabbet_jit.layouts import Format, Layout, with_layout_constraint

from rabbet.extend.functions import public_module as _public_module

__all__ = ["Format", "Layout", "with_layout_constraint"]

_public_module(globals())
