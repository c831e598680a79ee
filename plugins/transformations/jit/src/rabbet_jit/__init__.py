"""``jit``: a Python function compiled once per signature. See ``tracing``, ``stages``, then ``api``."""

from rabbet.extend.functions import public_module as _public_module

from rabbet_jit.api import disable_jit, eval_shape, jit, make_jaxpr
from rabbet_jit.precompile import precompile
from rabbet_jit.stages import Compiled, Lowered, Traced

__passes_operations_on__ = True

__all__ = ["Compiled", "Lowered", "Traced", "disable_jit", "eval_shape", "jit", "make_jaxpr", "precompile"]

_public_module(globals())
