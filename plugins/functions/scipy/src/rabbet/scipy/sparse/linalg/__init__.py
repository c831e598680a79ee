"""Linear systems solved by products with the matrix alone: ``jax.scipy.sparse.linalg``.

Arguments and results may be trees of arrays. Derivatives are those of the solution, found by another solve
with the same method (``lax.custom_linear_solve``), and not those of the steps that led to it.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.scipy.sparse.linalg.gmres import gmres
from rabbet.scipy.sparse.linalg.krylov import bicgstab, cg

__all__ = ["bicgstab", "cg", "gmres"]

_public_module(globals())
