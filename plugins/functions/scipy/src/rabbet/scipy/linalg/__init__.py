"""Linear algebra with SciPy's names: ``jax.scipy.linalg``.

Arrays of more than two dimensions are batches of matrices, which stand in the last two. Integers become
floats. Arguments like ``overwrite_a`` and ``check_finite`` are there for SciPy's callers and do nothing:
arrays do not change, and what is not finite gives results that are not.
"""

# ruff: noqa: F403 - each module says in __all__ what it gives

from rabbet.extend.functions import public_module as _public_module
from rabbet.scipy.linalg.decompositions import *
from rabbet.scipy.linalg.eigenvalues import *
from rabbet.scipy.linalg.exponential import *
from rabbet.scipy.linalg.functions import *
from rabbet.scipy.linalg.logarithms import *
from rabbet.scipy.linalg.special_matrices import *
from rabbet.scipy.linalg.schur_forms import *
from rabbet.scipy.linalg.structured import *
from rabbet.scipy.linalg.sylvester import *
from rabbet.scipy.linalg.systems import *

_public_module(globals())
