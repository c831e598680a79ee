"""``jax.experimental.sparse``: what rabbet-sparse offers where it is installed."""

ABSENT = "BCOO BCSR CSC CSR COO JAXSparse SparseEfficiencyWarning sparsify bcoo_dot_general"


def of_sparse(name):
    """A public name of ``rabbet.experimental.sparse``, for the modules in which JAX defines it.

    Raises:
      AttributeError: where there is none.
    """
    from rabbet.experimental import sparse

    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(sparse, name)
