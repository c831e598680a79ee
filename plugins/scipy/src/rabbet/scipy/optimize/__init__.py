"""Minimization: the field's ``jax.scipy.optimize``."""

from rabbet.extend.functions import fold_public as _fold_public
from rabbet.scipy.optimize.minimizing import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]

_fold_public(globals())
