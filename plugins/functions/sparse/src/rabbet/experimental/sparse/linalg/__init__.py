"""Linear algebra of sparse matrices: systems by a direct solver, and a few eigenvalues.

Iterative solvers are in ``rabbet.scipy.sparse.linalg`` and take sparse arrays as they are.
"""

from rabbet.experimental.sparse.linalg.eigenvalues import lobpcg_standard
from rabbet.experimental.sparse.linalg.lanczos import eigsh
from rabbet.experimental.sparse.linalg.systems import spsolve
from rabbet.extend.functions import public_module as _public_module

__all__ = ["eigsh", "lobpcg_standard", "spsolve"]

_public_module(globals())
