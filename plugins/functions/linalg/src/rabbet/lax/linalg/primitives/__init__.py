"""The primitives of linear algebra, one module per family; each stands beside all its standard rules.

Backends write rules for them by their names (``RuleSet.later(..., owner="rabbet.lax.linalg")``).
"""

from rabbet.lax.linalg.primitives import (
    cholesky,
    costs,
    eig,
    eigenvector_changes,
    eigh,
    lu,
    polar,
    qr,
    reductions,
    svd,
    triangular,
    tridiagonal,
    updates,
    zero_values,
)

__all__ = [
    "cholesky", "costs", "eig", "eigenvector_changes", "eigh", "lu", "polar", "qr", "reductions", "svd",
    "triangular", "tridiagonal", "updates", "zero_values",
]  # fmt: skip
