"""Products with one vector: in one stream and in two, and rows that are found from row pointers."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import sparse
from rabbet.experimental.sparse import entries, vector_products
from rabbet.experimental.sparse.vector_products import vector_product


@pytest.fixture(params=["one stream", "two streams"])
def streams(request, monkeypatch):
    """Programs of this test compute so; they are compiled anew, since nothing of a call tells them apart."""
    if request.param == "two streams":
        monkeypatch.setattr(vector_products, "FEWEST_ENTRIES", 2)
        monkeypatch.setattr(vector_products, "FEWEST_OF_A_ROW", 0)
    rb.clear_caches()
    yield request.param
    rb.clear_caches()


def pointers(counts, dtype="int32"):
    return np.concatenate([[0], np.cumsum(counts)]).astype(dtype)


MIXED = [3, 0, 0, 40, 1, 0, 33]


@pytest.mark.parametrize(
    "counts, dtype",
    [
        *[(MIXED, dtype) for dtype in ("int8", "int32", "int64", "uint16")],
        *[(counts, "int32") for counts in ([0, 0, 5], [70], [0, 0], [32, 32, 0, 32], [])],
    ],
)
def test_rows_of_row_pointers(counts, dtype):
    indptr = pointers(counts, dtype)
    for more in (0, 9):
        wanted = np.repeat(np.arange(len(counts)), counts)
        wanted = np.concatenate([wanted, np.full(more, len(counts))])
        got = entries.rows_of(rnp.array(indptr), sum(counts) + more)
        assert got.dtype == "int32"
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_all_classes(draw, streams, dtype):
    a, v, w = [np.asarray(draw(*s, dtype="int32"), dtype) for s in ((9, 7), (7,), (9,))]
    a[[2, 3, 8]] = 0  # rows without entries
    for cls in (sparse.BCOO, sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC):
        x = cls.fromdense(a)
        for product in (lambda x, v, w: (x @ v, x.T @ w), rb.jit(lambda x, v, w: (x @ v, x.T @ w))):
            for got, wanted in zip(product(x, v, w), (a @ v, a.T @ w), strict=True):
                assert got.dtype == dtype
                np.testing.assert_array_equal(got, wanted)
    x = sparse.BCOO.fromdense(a)
    np.testing.assert_array_equal(w @ x, w @ a)


def test_booleans(draw):
    a = np.asarray(draw(5, 4)) != 0
    v = np.array([True, False, True, False])
    np.testing.assert_array_equal(sparse.BCOO.fromdense(a) @ v, a @ v)


def test_padding_counts_for_nothing(streams):
    """Neither its values nor what stands at its columns, NaN or not."""
    nan = np.float32("nan")
    data, v = np.float32([2, 3, 4, nan, nan]), np.float32([1, nan, 10])
    x = sparse.BCSR((data, np.int32([0, 2, 2, 1, 0]), np.int32([0, 1, 1, 3])), shape=(3, 3))
    padded = sparse.BCOO((data, np.int32([[0, 0], [2, 2], [2, 2], [3, 1], [3, 3]])), shape=(3, 3))
    for product in (lambda x, v: x @ v, rb.jit(lambda x, v: x @ v)):
        for mat in (x, padded):
            np.testing.assert_array_equal(product(mat, v), [2, 0, 70])


@pytest.mark.forbidden("disable_jit")
def test_wild_columns_and_pointers_of_traced_matrices(streams):
    data, v = np.float32([1, 2, 4, 8]), np.float32([1, np.inf, 1])

    @rb.jit
    def product(indices, indptr):
        return sparse.BCSR((data, indices, indptr), shape=(2, 3)) @ v

    good = np.int32([0, 2, 0, 2]), np.int32([0, 1, 4])
    assert product(*good).tolist() == [1, 14]
    assert product(np.int32([-1, 2**30, -(2**31), 3]), good[1]).tolist() == [0, 0]
    for wild in ([0, 2**30, 2**30 + 1], [-(2**30), 1, 3], [0, 3, -5], [7, 5, 9]):
        assert product(good[0], np.int32(wild)).shape == (2,)


@pytest.mark.parametrize("cls", [sparse.BCOO, sparse.BCSR])
def test_derivatives(draw, streams, cls):
    a, v = draw(7, 6), draw(6, density=1.0) / 8
    x = cls.fromdense(a)
    loss = lambda x, v: ((x @ v) ** 2).sum()
    wanted = rb.grad(loss, argnums=(0, 1))(a, v)
    for transform in (lambda f: f, rb.jit):
        slopes = transform(sparse.grad(loss, argnums=(0, 1)))(x, v)
        np.testing.assert_allclose(slopes[0].todense(), np.where(a != 0, wanted[0], 0), rtol=1e-5)
        np.testing.assert_allclose(slopes[1], wanted[1], rtol=1e-5)
    by_values = lambda d: loss(x._with_data(d), v)
    twice = rb.jacfwd(rb.grad(by_values))(x.data)
    np.testing.assert_allclose(twice, twice.T, rtol=1e-5)
    forward = rb.jvp(lambda d, v: x._with_data(d) @ v, (x.data, v), (x.data, v))[1]
    np.testing.assert_allclose(forward, 2 * (a @ v), rtol=1e-5)


def test_batches(draw, streams):
    a, vs = draw(7, 6), draw(3, 6, density=1.0)
    x = sparse.BCSR.fromdense(a)
    np.testing.assert_array_equal(rb.vmap(lambda v: x @ v)(vs), vs @ a.T)
    values = rnp.stack([x.data, 2 * x.data])
    np.testing.assert_array_equal(
        rb.jit(rb.vmap(lambda d, v: x._with_data(d) @ v))(values, vs[:2])[1], 2 * (a @ vs[1])
    )
    many = sparse.BCSR.fromdense(rnp.stack([a, a[::-1]]), n_batch=1)
    np.testing.assert_array_equal(rb.vmap(lambda x: x @ vs[0])(many)[1], a[::-1] @ vs[0])


def test_it_is_one_primitive_and_large_ones_go_in_two_streams():
    """What is large enough for a second stream, and that one thing alone decides it: the shapes."""
    product = lambda x, v: x @ v
    for nse, rows, scatters in ((2**18, 2**16, 2), (2**18, 2**16 + 1, 1), (2**18 - 1, 4, 1)):
        array = lambda *s, dtype="float32": rb.ShapeDtypeStruct(s, dtype)
        x = sparse.BCOO._of(array(nse), array(nse, 2, dtype="int32"), (rows, 5), 0, False, False)
        jaxpr = rb.make_jaxpr(product)(x, array(5)).jaxpr
        assert [e.primitive for e in jaxpr.equations].count(vector_product) == 1
        text = rb.jit(product).lower(x, array(5)).as_text()
        assert text.count('"stablehlo.scatter"') == scatters
