"""NumPy's functions on Rabbet arrays: ``jax.numpy``.

Functions promote dtypes by the lattice in ``rabbet.dtypes``, broadcast, and never change their arguments.
Called on arrays, a function is one compiled program; under a transformation it is the primitives that it
consists of. Each family has its module; this one gathers their names. Dtypes of plugins (``bfloat16``) are
looked up when they are first used.
"""

# ruff: noqa: F403 - each module says in __all__ what it gives

import importlib

from rabbet.extend.functions import public_module as _public_module
from rabbet.numpy.array_api import __array_api_version__, __array_namespace_info__
from rabbet.numpy.arithmetic import *
from rabbet.numpy.bit_packing import *
from rabbet.numpy.changing import *
from rabbet.numpy.conversion import *
from rabbet.numpy.creation import *
from rabbet.numpy.cumulative import *
from rabbet.numpy.distinct import *
from rabbet.numpy.divisors import *
from rabbet.numpy.einsum import *
from rabbet.numpy.files import *
from rabbet.numpy.float_parts import *
from rabbet.numpy.histograms import *
from rabbet.numpy.index_tricks import *
from rabbet.numpy.indexing import *
from rabbet.numpy.joining import *
from rabbet.numpy.logic import *
from rabbet.numpy.matrices import *
from rabbet.numpy.missing import *
from rabbet.numpy.padding import *
from rabbet.numpy.polynomials import *
from rabbet.numpy.products import *
from rabbet.numpy.quantiles import *
from rabbet.numpy.rearranging import *
from rabbet.numpy.reductions import *
from rabbet.numpy.searching import *
from rabbet.numpy.selection import *
from rabbet.numpy.sets import *
from rabbet.numpy.shaping import *
from rabbet.numpy.signals import *
from rabbet.numpy.sorting import *
from rabbet.numpy.statistics import *
from rabbet.numpy.transcendental import *
from rabbet.numpy.types import *
from rabbet.numpy.vectorizing import *
from rabbet.numpy.ufunc_objects import *


def __getattr__(name):
    """Dtypes of plugins and default dtypes; for any other name, an error that says whether NumPy has it."""
    if name in ("fft", "linalg"):  # modules of their own, which most programs do not use
        return importlib.import_module(f"rabbet.numpy.{name}")
    from rabbet.numpy.types import default_type, scalar_type

    found = None if name.startswith("_") else default_type(name) or scalar_type(name)
    if found is not None:
        return found
    import difflib

    import numpy

    known = (
        "NumPy has it, but it is not there yet" if hasattr(numpy, name) else "NumPy has no such name either"
    )
    near = difflib.get_close_matches(name, [*globals()], n=1, cutoff=0.8)
    meant = f". Did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module 'rabbet.numpy' has no attribute {name!r}: {known}{meant}")


def _found_when_asked():
    from rabbet import dtypes
    from rabbet.numpy.types import DEFAULTS

    return *DEFAULTS, "uint", *dtypes.names()


_public_module(globals(), modules=("fft", "linalg"), more=_found_when_asked)
