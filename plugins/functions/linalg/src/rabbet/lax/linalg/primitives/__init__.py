"""The primitives of linear algebra, one module per family; each stands beside all its standard rules.

Backends write rules for them by their names (``RuleSet.later(..., owner="rabbet.lax.linalg")``).
"""

from rabbet.lax.linalg.primitives import (
    cholesky,
    costs,
    eig,
    eigh,
    lu,
    polar,
    qr,
    reductions,
    svd,
    triangular,
    tridiagonal,
    updates,
)

__all__ = [
    "cholesky", "costs", "eig", "eigh", "lu", "polar", "qr", "reductions", "svd", "triangular",
    "tridiagonal", "updates",
]  # fmt: skip
