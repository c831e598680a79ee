"""References: places with an array that functions read and write (``jax.ref``).

``ref[i]`` reads and ``ref[i] = x`` writes, in plain Python and within ``jit``, ``scan``, ``while_loop``,
``cond``, ``vmap``, ``checkpoint`` and differentiated functions. A reference may be an argument of ``jit`` and
``vmap``, an operand of ``cond``, what ``scan`` goes over, or used from outside; it is never returned.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.ref.functions import addupdate, empty_ref, free_ref, freeze, get, new_ref, set, swap
from rabbet.ref.reference import AbstractRef, Ref

__all__ = [
    "AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap",
]  # fmt: skip

_public_module(globals())
