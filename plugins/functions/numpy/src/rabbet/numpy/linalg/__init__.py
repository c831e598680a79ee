"""Linear algebra with NumPy's names: ``jax.numpy.linalg``.

Arrays of more than two dimensions are batches of matrices, which stand in the last two. Integers become
floats. The module is imported when ``rabbet.numpy.linalg`` is first used.
"""
# ruff: noqa: F403 - each module says in __all__ what it gives

from rabbet.extend.functions import public_module as _public_module
from rabbet.numpy.linalg.decompositions import *
from rabbet.numpy.linalg.determinants import *
from rabbet.numpy.linalg.inverses import *
from rabbet.numpy.linalg.least_squares import *
from rabbet.numpy.linalg.norms import *
from rabbet.numpy.linalg.products import *
from rabbet.numpy.linalg.systems import *

_public_module(globals())
