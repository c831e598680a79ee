"""Signals: the field's ``jax.scipy.signal``: convolution, trends, spectra."""

# ruff: noqa: F403 - each module says in __all__ what it gives

from rabbet.extend.functions import fold_public as _fold_public
from rabbet.scipy.signal.convolution import *
from rabbet.scipy.signal.spectra import *
from rabbet.scipy.signal.trends import *

_fold_public(globals())
