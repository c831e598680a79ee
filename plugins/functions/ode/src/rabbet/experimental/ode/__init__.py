"""Ordinary differential equations: see ``solver`` for the method, ``adjoint`` for ``odeint`` itself."""

from rabbet.experimental.ode.adjoint import odeint
from rabbet.extend.functions import public_module as _public_module

__all__ = ["odeint"]

_public_module(globals())
