"""Minimization: ``jax.scipy.optimize``."""

from rabbet.extend.functions import public_module as _public_module
from rabbet.scipy.optimize.minimizing import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]

_public_module(globals())
