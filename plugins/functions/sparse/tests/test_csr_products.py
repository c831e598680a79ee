"""Products by rows, for which the CPU has a library: against dense ones, and what it must never read."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import sparse
from rabbet.experimental.sparse.csr_products import rows_product

TARGET = "cpu_csr_sparse_dense_ffi"


def calls(function, *args):
    """How often the compiled program of a function calls the library."""
    return rb.jit(function).lower(*args).as_text().count(f"@{TARGET}(")


def times(x, v):
    return x @ v


on_cpu = pytest.mark.skipif(rb.default_backend() != "cpu", reason="the library is the CPU's")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("columns", [None, 5, 8])
def test_compiled_products_of_rows(draw, dtype, columns):
    a = draw(7, 6, dtype=dtype)
    v = draw(6, *([] if columns is None else [columns]), density=1.0, dtype=dtype)
    a, v = rnp.array(a, dtype), rnp.array(v, dtype)
    for x in (sparse.BCSR.fromdense(a), sparse.BCSR.fromdense(a, nse=np.count_nonzero(a) + 3)):
        out = rb.jit(times)(x, v)
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, a @ v)
        np.testing.assert_array_equal(x @ v, a @ v)


@pytest.mark.parametrize("cls", [sparse.BCOO, sparse.CSR, sparse.CSC, sparse.COO])
def test_the_other_classes(draw, cls):
    a, v = draw(7, 6), draw(6, 5, density=1.0)
    np.testing.assert_array_equal(cls.fromdense(a) @ v, a @ v)
    np.testing.assert_array_equal(rb.jit(times)(cls.fromdense(a), v), a @ v)


@on_cpu
def test_when_the_library_is_called(draw):
    a = draw(7, 6)
    by_rows, by_places = sparse.BCSR.fromdense(a), sparse.BCOO.fromdense(a)
    assert calls(times, by_rows, rnp.ones((6, 3))) == 1
    assert calls(times, by_places, rnp.ones((6, 3))) == calls(times, by_rows, rnp.ones(6)) == 0
    assert calls(times, by_places, rnp.ones((6, 5))) == 1
    assert calls(times, by_places, rnp.ones((6, 64))) == calls(times, by_rows, rnp.ones((6, 64))) == 0
    small = sparse.BCSR.fromdense(a.astype("float16"))
    assert calls(times, small, rnp.ones((6, 5), "float16")) == 0  # it has no such kernel


def test_matrices_without_elements():
    for rows, columns, free in ((0, 3, 5), (3, 0, 5), (3, 3, 0)):
        x = sparse.BCSR.fromdense(rnp.zeros((rows, columns)), nse=2)
        out = rb.jit(times)(x, rnp.ones((columns, free)))
        np.testing.assert_array_equal(out, np.zeros((rows, free)))


@pytest.mark.parametrize("columns", [None, 5])
def test_gradients(draw, columns):
    a, v = draw(7, 6), draw(6, *([] if columns is None else [columns]), density=1.0) / 8
    loss = lambda x, v: ((x @ v) ** 2).sum()
    wanted = rb.grad(loss, argnums=(0, 1))(a, v)
    x = sparse.BCSR.fromdense(a)
    for slopes in (sparse.grad(loss, argnums=(0, 1))(x, v), rb.jit(sparse.grad(loss, argnums=(0, 1)))(x, v)):
        np.testing.assert_allclose(slopes[0].todense(), np.where(a != 0, wanted[0], 0), rtol=1e-5)
        np.testing.assert_allclose(slopes[1], wanted[1], rtol=1e-5)
    by_values = lambda d: loss(x._with_data(d), v)
    twice = rb.jacfwd(rb.grad(by_values))(x.data)
    np.testing.assert_allclose(twice, twice.T, rtol=1e-5)


def test_batches(draw):
    a, vs = draw(7, 6), draw(3, 6, 5, density=1.0)
    x = sparse.BCSR.fromdense(a)
    np.testing.assert_array_equal(rb.jit(rb.vmap(lambda v: x @ v))(vs), a @ vs)
    values = rnp.stack([x.data, 2 * x.data])
    np.testing.assert_array_equal(rb.vmap(lambda d: x._with_data(d) @ vs[0])(values)[1], 2 * (a @ vs[0]))


@pytest.mark.forbidden("debug_nans", "debug_infs", "disable_jit")
@pytest.mark.parametrize("columns", [None, 5])
def test_no_index_reads_outside_of_the_operand(columns):
    """The places of traced matrices are not looked at before; a wild one counts for nothing, like padding."""
    a = np.float32([[0, 2, 0], [1, 0, 3]])
    x = sparse.BCSR.fromdense(a)
    v = np.full((3,) if columns is None else (3, columns), np.inf, "float32")
    v[1:] = 1

    def product(indices, indptr):
        return sparse.BCSR((x.data, indices, indptr), shape=a.shape) @ v

    wild = rnp.array([1, 2**30, -(2**30)], "int32")
    got = np.asarray(rb.jit(product)(wild, x.indptr)).reshape(2, -1)[:, 0]
    assert got.tolist() == [2, 0]
    for pointers in ([0, 2**30, 2**30 + 1], [-(2**30), 1, 3], [0, 3, -5]):
        got = rb.jit(product)(x.indices, rnp.array(pointers, "int32"))
        assert got.shape == (2, *v.shape[1:])


def test_it_is_one_primitive(draw):
    x = sparse.BCSR.fromdense(draw(7, 6))
    jaxpr = rb.make_jaxpr(times)(x, rnp.ones((6, 2))).jaxpr
    assert [e.primitive for e in jaxpr.equations].count(rows_product) == 1


def test_what_is_found_once_is_kept(draw):
    x = sparse.BCOO.fromdense(draw(7, 6))
    x @ rnp.ones((6, 5))
    columns, pointers = x._known.columns, x._known.indptr
    x @ rnp.ones((6, 5))
    assert x._known.columns is columns and x._known.indptr is pointers
    assert (2 * x)._known.columns is None or (2 * x)._known.columns is columns
    rb.jit(lambda v: x @ v)(rnp.ones((6, 5)))  # captured by a function that is traced
    assert x._known.columns is columns
    fresh = sparse.BCOO.fromdense(draw(7, 6))
    rb.jit(lambda v: fresh @ v)(rnp.ones((6, 5)))
    np.testing.assert_array_equal(fresh @ rnp.ones((6, 5)), fresh.todense() @ rnp.ones((6, 5)))
