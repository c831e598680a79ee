"""``jax.experimental.sparse``: what rabbet-sparse offers where it is installed."""

import importlib

from rabbet_jax.overlay.experimental.sparse.inner_classes import inner

ABSENT = "BCOO BCSR CSC CSR COO JAXSparse SparseEfficiencyWarning sparsify bcoo_dot_general"


def of_sparse(name):
    """A public name of ``rabbet.experimental.sparse``, for the modules in which JAX defines it.

    Raises:
      AttributeError: where there is none.
    """
    if name.startswith("_"):
        raise AttributeError(name)
    found = getattr(importlib.import_module("rabbet.experimental.sparse"), name, None)
    return inner(name) if found is None else found
