"""``jax.experimental.sparse``: what rabbet-sparse offers where it is installed."""

import importlib

from rabbet_jax.composed_primitives import composed
from rabbet_jax.composed_sparse import SPARSE
from rabbet_jax.overlay.experimental.sparse.inner_classes import inner
from rabbet_jax.primitives_by_name import primitive_named

ABSENT = "BCOO BCSR CSC CSR COO JAXSparse SparseEfficiencyWarning sparsify bcoo_dot_general"


def of_sparse(name):
    """A public name of ``rabbet.experimental.sparse``, for the modules in which JAX defines it.

    Raises:
      AttributeError: where there is none.
    """
    if name.startswith("_"):
        raise AttributeError(name)
    if name.endswith("_p") and name[:-2] in SPARSE:
        return composed(name[:-2])
    if name == "todense_p":
        return primitive_named(name)
    found = getattr(importlib.import_module("rabbet.experimental.sparse"), name, None)
    return inner(name) if found is None else found


def __getattr__(name):
    if name.endswith("_p") or name == "CuSparseEfficiencyWarning":
        return of_sparse(name)
    raise AttributeError(name)
