"""What writers of kernels share: a way through a kernel's program that writes MLIR as text.

``kernel_function.Walker`` goes through a program and asks a table of rules, by the names of primitives, what
to write. ``elementwise`` and ``control`` are rules in the dialects ``arith``, ``math`` and ``scf``, which
Triton and Mosaic have in common.
"""

from rabbet_pallas.lowering import control, elementwise
from rabbet_pallas.lowering.kernel_function import Rules

shared_rules = Rules({**elementwise.RULES, **control.RULES})

__all__ = ["shared_rules"]
