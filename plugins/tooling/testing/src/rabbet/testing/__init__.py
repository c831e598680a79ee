"""The conformance kit: laws that primitives and transformations obey, and what is needed to check them.

Six functions check a plugin against the promises of its kind, each for its author's tests:
``check_primitive``, ``check_rules``, ``check_transformation``, ``check_backend``, ``check_dtype``,
``check_pass``.

``rows`` holds one row or more per primitive of core (``table.Row``: the primitive, what NumPy says it
computes, inputs to try it on). ``laws`` says what must hold of a row; ``checks`` evaluates laws and compares;
``closure`` makes the matrix of primitives and transformations. A plugin that brings primitives writes rows
for them; one that brings a transformation runs the rows of core through it.

The laws are written against a ``System``: four functions ``jvp, vjp, vmap, jit``. ``driver.CORE`` is one
that needs no plugin, ``driver.plugins()`` the one that users see.
"""

from rabbet.extend.functions import public_module
from rabbet.testing.kit import (
    check_backend,
    check_dtype,
    check_primitive,
    check_rules,
    check_transformation,
)
from rabbet.testing.laws import LawError
from rabbet.testing.passes import Gain, check_pass, random_program
from rabbet.testing.table import Row

__all__ = [
    "Gain", "LawError", "Row", "check_backend", "check_dtype", "check_pass", "check_primitive", "check_rules",
    "check_transformation", "random_program",
]  # fmt: skip

public_module(globals())
