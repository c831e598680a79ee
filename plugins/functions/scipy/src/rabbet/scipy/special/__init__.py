"""SciPy's special functions on Rabbet arrays: ``jax.scipy.special``.

All are elementwise unless they say otherwise: they promote dtypes, broadcast, and return floats of the
promoted dtype. float16 and bfloat16 are computed in single precision. Every function is differentiable by
every argument by which it has a derivative, to any order unless it says otherwise. How exact they are:
docs/scipy.md."""

# ruff: noqa: F403 - each module says in __all__ what it gives

from rabbet.extend.functions import public_module as _public_module
from rabbet.scipy.special.bessel import *
from rabbet.scipy.special.elementary import *
from rabbet.scipy.special.error_functions import *
from rabbet.scipy.special.gamma import *
from rabbet.scipy.special.integrals import *
from rabbet.scipy.special.inverses import *
from rabbet.scipy.special.beta_and_hypergeometric import *

_public_module(globals())
