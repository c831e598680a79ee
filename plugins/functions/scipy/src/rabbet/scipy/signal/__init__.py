"""Signals: ``jax.scipy.signal``: convolution, trends, spectra."""

# ruff: noqa: F403 - each module says in __all__ what it gives

from rabbet.extend.functions import public_module as _public_module
from rabbet.scipy.signal.convolution import *
from rabbet.scipy.signal.spectra import *
from rabbet.scipy.signal.trends import *

_public_module(globals())
