"""Sparse arrays: BCOO and BCSR, their products and derivatives, and programs on them.

``sparsify`` takes sparse arrays through functions of arrays. Written against ``rabbet`` and ``rabbet.extend``
alone.
"""

from rabbet.experimental.sparse.arithmetic import bcoo_extract, bcoo_multiply_dense, bcoo_multiply_sparse
from rabbet.experimental.sparse.base import (
    DensifyError,
    JAXSparse,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
)
from rabbet.experimental.sparse.bcoo import BCOO, bcoo_fromdense, bcoo_todense
from rabbet.experimental.sparse.bcsr import (
    BCSR,
    bcsr_dot_general,
    bcsr_extract,
    bcsr_fromdense,
    bcsr_todense,
)
from rabbet.experimental.sparse.bcsr_structure import (
    bcsr_broadcast_in_dim,
    bcsr_concatenate,
    bcsr_sum_duplicates,
)
from rabbet.experimental.sparse.derivatives import grad, jacfwd, jacobian, jacrev, value_and_grad
from rabbet.experimental.sparse.formats import (
    COO,
    CSC,
    CSR,
    coo_fromdense,
    coo_matmat,
    coo_matvec,
    coo_todense,
    csr_fromdense,
    csr_matmat,
    csr_matvec,
    csr_todense,
)
from rabbet.experimental.sparse.gathering import bcoo_gather
from rabbet.experimental.sparse.interpreter import sparsify, todense
from rabbet.experimental.sparse.creation import empty, eye, random_bcoo
from rabbet.experimental.sparse.products import bcoo_dot_general, bcoo_dot_general_sampled
from rabbet.experimental.sparse.structure import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    bcoo_transpose,
)
from rabbet.experimental.sparse.sums import (
    bcoo_eliminate_zeros,
    bcoo_reduce_sum,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_update_layout,
)
from rabbet.extend.functions import public_module as _public_module


def __getattr__(name):
    """``linalg``, which is imported when it is asked for."""
    if name == "linalg":
        import importlib

        return importlib.import_module("rabbet.experimental.sparse.linalg")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BCOO",
    "BCSR",
    "COO",
    "CSC",
    "CSR",
    "DensifyError",
    "JAXSparse",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_dot_general",
    "bcoo_dot_general_sampled",
    "bcoo_dynamic_slice",
    "bcoo_eliminate_zeros",
    "bcoo_extract",
    "bcoo_fromdense",
    "bcoo_gather",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_sort_indices",
    "bcoo_squeeze",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "bcoo_update_layout",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_extract",
    "bcsr_fromdense",
    "bcsr_sum_duplicates",
    "bcsr_todense",
    "coo_fromdense",
    "coo_matmat",
    "coo_matvec",
    "coo_todense",
    "csr_fromdense",
    "csr_matmat",
    "csr_matvec",
    "csr_todense",
    "empty",
    "eye",
    "grad",
    "jacfwd",
    "jacobian",
    "jacrev",
    "random_bcoo",
    "sparsify",
    "todense",
    "value_and_grad",
]

_public_module(globals(), modules=("linalg",))
