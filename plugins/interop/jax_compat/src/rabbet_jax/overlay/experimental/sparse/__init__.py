"""``jax.experimental.sparse``: what rabbet-sparse offers where it is installed."""

ABSENT = "BCOO BCSR CSC CSR COO JAXSparse SparseEfficiencyWarning sparsify bcoo_dot_general"
