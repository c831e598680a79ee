"""NumPy's functions on Rabbet arrays: ``jax.numpy``.

Functions promote dtypes by the lattice in ``rabbet.dtypes``, broadcast, and never change their arguments.
Called on arrays, a function is one compiled program; under a transformation it is the primitives that it
consists of. Each family has its module; this one gathers their names. Dtypes of plugins (``bfloat16``) are
looked up when they are first used.
"""

# ruff: noqa: F403 - each module says in __all__ what it gives

import importlib

from rabbet.extend.functions import public_module as _public_module
from rabbet.numpy.support.array_api import __array_api_version__, __array_namespace_info__
from rabbet.numpy.elementwise.arithmetic import *
from rabbet.numpy.elementwise.bit_packing import *
from rabbet.numpy.indexing.inplace_functions import *
from rabbet.numpy.creation.conversion import *
from rabbet.numpy.creation.new_arrays import *
from rabbet.numpy.reductions.cumulative import *
from rabbet.numpy.ordering.unique_elements import *
from rabbet.numpy.elementwise.divisors import *
from rabbet.numpy.products.einsum import *
from rabbet.numpy.creation.files import *
from rabbet.numpy.elementwise.float_parts import *
from rabbet.numpy.reductions.histograms import *
from rabbet.numpy.creation.index_tricks import *
from rabbet.numpy.indexing.taking import *
from rabbet.numpy.shapes.joining import *
from rabbet.numpy.elementwise.logic import *
from rabbet.numpy.creation.matrices import *
from rabbet.numpy.reductions.nan_reductions import *
from rabbet.numpy.shapes.padding import *
from rabbet.numpy.sampled.polynomials import *
from rabbet.numpy.products.dots import *
from rabbet.numpy.reductions.quantiles import *
from rabbet.numpy.shapes.rearranging import *
from rabbet.numpy.reductions.reducing import *
from rabbet.numpy.indexing.searching import *
from rabbet.numpy.elementwise.selection_and_rounding import *
from rabbet.numpy.ordering.sets import *
from rabbet.numpy.shapes.reshaping import *
from rabbet.numpy.sampled.signals import *
from rabbet.numpy.ordering.sorting import *
from rabbet.numpy.reductions.statistics import *
from rabbet.numpy.elementwise.transcendental import *
from rabbet.numpy.support.types import *
from rabbet.numpy.mapped.vectorizing import *
from rabbet.numpy.support.ufunc_objects import *


def __getattr__(name):
    """Dtypes of plugins and default dtypes; for any other name, an error that says whether NumPy has it."""
    if name in ("fft", "linalg"):  # modules of their own, which most programs do not use
        return importlib.import_module(f"rabbet.numpy.{name}")
    from rabbet.numpy.support.types import default_type, scalar_type

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
    from rabbet.numpy.support.types import DEFAULTS

    return *DEFAULTS, "uint", *dtypes.names()


_public_module(globals(), modules=("fft", "linalg"), more=_found_when_asked)
