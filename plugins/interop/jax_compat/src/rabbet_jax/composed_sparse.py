"""JAX's primitives of sparse arrays, which take and give buffers, by the functions of rabbet-sparse."""

import importlib


def _sparse():
    return importlib.import_module("rabbet.experimental.sparse")


def _bcoo(data, indices, info):
    sorted_, unique = getattr(info, "indices_sorted", False), getattr(info, "unique_indices", False)
    shape = tuple(info.shape)
    return _sparse().BCOO((data, indices), shape=shape, indices_sorted=sorted_, unique_indices=unique)


def _bcsr(data, indices, indptr, info):
    return _sparse().BCSR((data, indices, indptr), shape=tuple(info.shape))


def _coo(data, row, col, info):
    return _sparse().COO((data, row, col), shape=tuple(info.shape))


def _csr(data, indices, indptr, shape):
    return _sparse().CSR((data, indices, indptr), shape=tuple(shape))


def _kind(fun):
    """``fun``, which gives a BCOO, as one that gives its buffers."""

    def buffers(*args, **params):
        out = fun(*args, **params)
        return [out.data, out.indices]

    return buffers


def _bcoo_extract(indices, mat, *, assume_unique=True):
    pattern = _sparse().BCOO(
        (mat.reshape(-1)[:1].repeat(indices.shape[-2]).reshape(indices.shape[:-1]), indices), shape=mat.shape
    )
    return _sparse().bcoo_extract(pattern, mat, assume_unique=assume_unique).data


def _bcoo_dot_general(data, indices, rhs, *, dimension_numbers, preferred_element_type, lhs_spinfo):
    return _sparse().bcoo_dot_general(
        _bcoo(data, indices, lhs_spinfo),
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
    )


def _bcoo_spdot_general(
    data, indices, other, others, *, lhs_spinfo, rhs_spinfo, dimension_numbers, preferred_element_type
):
    out = _sparse().bcoo_dot_general(
        _bcoo(data, indices, lhs_spinfo),
        _bcoo(other, others, rhs_spinfo),
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
    )
    return [out.data, out.indices]


def _bcsr_dot_general(data, indices, indptr, rhs, *, dimension_numbers, preferred_element_type, lhs_spinfo):
    return _sparse().bcsr_dot_general(
        _bcsr(data, indices, indptr, lhs_spinfo),
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
    )


def _of_coo(fun):
    def product(data, row, col, operand, *, spinfo, transpose):
        return getattr(_sparse(), fun)(_coo(data, row, col, spinfo), operand, transpose=transpose)

    return product


def _of_csr(fun):
    def product(data, indices, indptr, operand, *, shape, transpose):
        return getattr(_sparse(), fun)(_csr(data, indices, indptr, shape), operand, transpose=transpose)

    return product


def _parts(fun, *names):
    """A function of rabbet-sparse of a dense array as one that gives the buffers of its result."""

    def buffers(mat, **params):
        out = getattr(_sparse(), fun)(mat, **params)
        return [getattr(out, name) for name in names]

    return buffers


def _spsolve(data, indices, indptr, b, *, tol, reorder):
    return _sparse().linalg.spsolve(data, indices, indptr, b, tol=tol, reorder=reorder)


# By the name without `_p`: the function, and whether it has several results.
SPARSE = {
    "bcoo_todense": (lambda data, indices, *, spinfo: _bcoo(data, indices, spinfo).todense(), False),
    "bcoo_fromdense": (_parts("bcoo_fromdense", "data", "indices"), True),
    "bcoo_extract": (_bcoo_extract, False),
    "bcoo_transpose": (
        _kind(lambda d, i, *, permutation, spinfo: _sparse().bcoo_transpose(
            _bcoo(d, i, spinfo), permutation=permutation)),
        True,
    ),
    "bcoo_sort_indices": (
        _kind(lambda d, i, *, spinfo: _sparse().bcoo_sort_indices(_bcoo(d, i, spinfo))), True
    ),
    "bcoo_sum_duplicates": (
        _kind(lambda d, i, *, spinfo, nse: _sparse().bcoo_sum_duplicates(_bcoo(d, i, spinfo), nse)), True
    ),
    "bcoo_dot_general": (_bcoo_dot_general, False),
    "bcoo_spdot_general": (_bcoo_spdot_general, True),
    "bcoo_dot_general_sampled": (
        lambda a, b, indices, *, dimension_numbers: _sparse().bcoo_dot_general_sampled(
            a, b, indices, dimension_numbers=dimension_numbers),
        False,
    ),
    "bcsr_todense": (lambda d, i, p, *, spinfo: _bcsr(d, i, p, spinfo).todense(), False),
    "bcsr_fromdense": (_parts("bcsr_fromdense", "data", "indices", "indptr"), True),
    "bcsr_extract": (lambda i, p, mat: _sparse().bcsr_extract(i, p, mat), False),
    "bcsr_dot_general": (_bcsr_dot_general, False),
    "coo_todense": (lambda d, row, col, *, spinfo: _coo(d, row, col, spinfo).todense(), False),
    "coo_fromdense": (_parts("coo_fromdense", "data", "row", "col"), True),
    "coo_matvec": (_of_coo("coo_matvec"), False),
    "coo_matmat": (_of_coo("coo_matmat"), False),
    "csr_todense": (lambda d, i, p, *, shape: _csr(d, i, p, shape).todense(), False),
    "csr_fromdense": (_parts("csr_fromdense", "data", "indices", "indptr"), True),
    "csr_matvec": (_of_csr("csr_matvec"), False),
    "csr_matmat": (_of_csr("csr_matmat"), False),
    "spsolve": (_spsolve, False),
}  # fmt: skip
