"""Ordinary differential equations: see ``solver`` for the method, ``adjoint`` for ``odeint`` itself."""

from rabbet.experimental.ode.adjoint import odeint
from rabbet.extend.functions import fold_public as _fold_public

__all__ = ["odeint"]

_fold_public(globals())
