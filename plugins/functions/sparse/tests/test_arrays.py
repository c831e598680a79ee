"""BCOO and BCSR: what they store, conversions, layouts, and what is refused."""

import pickle

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import sparse

LAYOUTS = [(b, d) for b in range(3) for d in range(3 - b)]
CLASSES = [sparse.BCOO, sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC]


@pytest.mark.parametrize("n_batch, n_dense", LAYOUTS)
def test_there_and_back(draw, n_batch, n_dense):
    a = draw(2, 3, 4)
    x = sparse.BCOO.fromdense(a, n_batch=n_batch, n_dense=n_dense)
    assert x.shape == a.shape and x.dtype == a.dtype and x.size == a.size and x.ndim == 3
    assert (x.n_batch, x.n_dense, x.n_sparse) == (n_batch, n_dense, 3 - n_batch - n_dense)
    assert x.data.shape == (*a.shape[:n_batch], x.nse, *a.shape[3 - n_dense :])
    np.testing.assert_array_equal(x.todense(), a)
    np.testing.assert_array_equal(rb.jit(lambda x: x.todense())(x), a)


@pytest.mark.parametrize("cls", CLASSES)
def test_all_classes_hold_a_matrix(draw, cls):
    a = draw(4, 5)
    x = cls.fromdense(a)
    assert repr(x) == f"{cls.__name__}(float32[4, 5], nse={np.count_nonzero(a)})"
    np.testing.assert_array_equal(x.todense(), a)
    np.testing.assert_array_equal(x.T.todense(), a.T)
    np.testing.assert_array_equal(cls.fromdense(a, nse=11).todense(), a)
    np.testing.assert_array_equal(x.to_bcoo().todense(), a)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).todense(), a)
    np.testing.assert_array_equal(cls.from_scipy_sparse(x.to_scipy_sparse()).todense(), a)
    assert x.block_until_ready() is x
    remade = cls.tree_unflatten(*x.tree_flatten()[::-1])
    np.testing.assert_array_equal(remade.todense(), a)


def test_scipy_keeps_duplicates_and_order():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    s = scipy_sparse.coo_array((np.ones(3), ([1, 1, 0], [2, 2, 0])), shape=(2, 3))
    x = sparse.BCOO.from_scipy_sparse(s)
    assert x.nse == 3 and not x.indices_sorted and not x.unique_indices
    np.testing.assert_array_equal(x.todense(), s.toarray())
    y = sparse.BCSR.from_scipy_sparse(s, index_dtype="int16")
    assert y.indices.dtype == "int16" and y.unique_indices
    batched = sparse.BCOO.fromdense(np.eye(2, dtype="float32"), n_batch=1)
    np.testing.assert_array_equal(batched.to_scipy_sparse().toarray(), np.eye(2))
    assert sparse.BCOO.from_scipy_sparse(s, n_dense=1).n_dense == 1


@pytest.mark.parametrize("old", LAYOUTS)
@pytest.mark.parametrize("new", LAYOUTS)
def test_every_layout_becomes_every_other(draw, old, new):
    a = draw(2, 3, 4)
    x = sparse.BCOO.fromdense(a, n_batch=old[0], n_dense=old[1])
    y = x.update_layout(n_batch=new[0], n_dense=new[1], on_inefficient=None)
    assert (y.n_batch, y.n_dense) == new
    np.testing.assert_array_equal(y.todense(), a)


def test_a_wasteful_layout_is_refused_or_warned_of(draw):
    x = sparse.BCOO.fromdense(draw(3, 4))
    with pytest.raises(sparse.SparseEfficiencyError, match="n_batch from 0 to 1 stores 3 times as many"):
        x.update_layout(n_batch=1)
    with pytest.warns(sparse.SparseEfficiencyWarning, match="n_dense from 0 to 1"):
        x.update_layout(n_dense=1, on_inefficient="warn")
    with pytest.raises(ValueError, match="do not fit 2 dimensions"):
        x.update_layout(n_batch=3)


HERE = np.array([[0]])
BAD = {
    "below zero": (lambda: sparse.BCOO((np.ones(1), np.array([[-1]])), shape=(3,)), "is -1, outside"),
    "above": (lambda: sparse.BCOO((np.ones(1), np.array([[0, 4]])), shape=(5, 3)), r"indices\[0, 1\] is 4"),
    "floats": (lambda: sparse.BCOO((np.ones(1), np.array([[0.0]])), shape=(3,)), "must be integers"),
    "one dimension": (lambda: sparse.BCOO((np.ones(1), np.array([0])), shape=(3,)), "two dimensions"),
    "lengths": (lambda: sparse.BCOO((np.ones(2), HERE), shape=(3,)), "it must be"),
    "rank": (lambda: sparse.BCOO((np.ones(1), HERE), shape=(3, 3)), "does not make the 2 dimensions"),
    "negative": (lambda: sparse.BCOO((np.ones(1), HERE), shape=(-3,)), "must not be negative"),
    "narrow": (
        lambda: sparse.BCOO((np.ones(1), np.array([[0]], "int8")), shape=(300,)), "int8 cannot count to 300",
    ),
    "not in order": (
        lambda: sparse.BCOO((np.ones(2), np.array([[1], [0]])), shape=(3,), indices_sorted=True),
        "entry 1 at .0. comes after one at .1.",
    ),
    "twice": (
        lambda: sparse.BCOO((np.ones(3), np.array([[1], [0], [1]])), shape=(3,), unique_indices=True),
        r"\[1\] occurs more than once",
    ),
    "indptr falls": (
        lambda: sparse.BCSR((np.ones(2), np.array([0, 0]), np.array([0, 2, 1])), shape=(2, 3)), "never fall",
    ),
    "indptr length": (
        lambda: sparse.BCSR((np.ones(2), np.array([0, 0]), np.array([0, 2])), shape=(2, 3)), r"be \(3,\)",
    ),
    "column": (
        lambda: sparse.CSR((np.ones(1), np.array([4]), np.array([0, 1])), shape=(1, 3)), "outside dimension",
    ),
    "row": (lambda: sparse.COO((np.ones(1), np.array([4]), np.array([0])), shape=(3, 3)), "COO: rows"),
    "nse": (lambda: rb.jit(sparse.BCOO.fromdense)(np.eye(2)), "give nse, an upper bound"),
    "dims": (lambda: sparse.BCOO.fromdense(np.eye(2), n_batch=3), "do not fit an array of 2"),
    "format": (lambda: sparse.eye(3, sparse_format="foo"), "it is one of"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_says_what_is_wrong(name):
    make, text = BAD[name]
    with pytest.raises((ValueError, TypeError), match=text):
        make()


def test_padding_counts_for_nothing():
    places = np.array([[3, 3], [1, 0], [1, 3]])
    x = sparse.BCOO((np.float32([5, 1, 7]), places), shape=(3, 3))
    want = np.zeros((3, 3), "float32")
    want[1, 0] = 1
    for y in (x, x.T.T, x.sort_indices(), x.sum_duplicates(), x.reshape(9).reshape(3, 3), x.to_bcoo()):
        np.testing.assert_array_equal(y.todense(), want)
    assert float(x.sum()) == 1 and (x @ np.ones(3, "float32")).tolist() == [0, 1, 0]
    assert x.sum(0).todense().tolist() == [1, 0, 0] and x.sum(1).todense().tolist() == [0, 1, 0]
    assert (sparse.bcoo_concatenate([x, x], dimension=0).todense() == np.concatenate([want, want])).all()
    assert x.sum_duplicates().nse == 1


@pytest.mark.forbidden("disable_jit")
def test_sum_duplicates():
    x = sparse.BCOO((np.float32([1, 0, 3, -3, 2]), np.array([[2], [0], [1], [1], [2]])), shape=(3,))
    y = x.sum_duplicates()
    assert y.indices_sorted and y.unique_indices
    assert y.indices.tolist() == [[1], [2]] and y.data.tolist() == [0, 3]
    assert sparse.bcoo_sum_duplicates(x).indices.tolist() == [[0], [1], [2]]
    assert rb.jit(lambda x: x.sum_duplicates(nse=4))(x).indices.tolist() == [[1], [2], [3], [3]]
    assert sparse.bcoo_sum_duplicates(x, nse=1).todense().tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="give nse"):
        rb.jit(sparse.bcoo_sum_duplicates)(x)
    batched = sparse.BCOO((np.ones((2, 2), "float32"), np.array([[[0], [0]], [[0], [1]]])), shape=(2, 3))
    assert batched.sum_duplicates().nse == 2
    np.testing.assert_array_equal(batched.sum_duplicates().todense(), [[2, 0, 0], [1, 1, 0]])


def test_more_elements_than_32_bits_count():
    """No flat index: places far apart stay apart, and those past 2**31 are right."""
    n = 100_000
    places = np.array([[n - 1, n - 1], [0, 1], [n - 1, n - 1], [42949, 67296]])
    x = sparse.BCOO((np.float32([1, 2, 3, 4]), places), shape=(n, n))
    y = x.sum_duplicates()
    assert y.indices.tolist() == [[0, 1], [42949, 67296], [n - 1, n - 1]] and y.data.tolist() == [2, 4, 4]
    flat = x.reshape(n * n)
    assert flat.indices.dtype == "int64"
    assert flat.indices[:, 0].tolist() == [n * n - 1, 1, n * n - 1, 42949 * n + 67296]
    back = flat.reshape(n, n)
    assert back.indices.tolist() == places.tolist()
    product = (x.T @ x).sum_duplicates()
    assert product.indices.tolist() == [[1, 1], [67296, 67296], [n - 1, n - 1]]
    assert product.data.tolist() == [4, 16, 16]
    assert sparse.bcoo_multiply_sparse(x, x).sum_duplicates().data.tolist() == [4, 16, 16]


def test_making(draw):
    for kind, cls in zip(("bcoo", "bcsr", "coo", "csr", "csc"), CLASSES):
        assert type(sparse.eye(3, sparse_format=kind)) is cls
        np.testing.assert_array_equal(sparse.eye(3, 4, k=-1, sparse_format=kind).todense(), np.eye(3, 4, -1))
        none = sparse.empty((2, 3), sparse_format=kind)
        assert type(none) is cls and none.nse == 0 and not none.todense().any()
    for options in ({"n_batch": 1}, {"n_dense": 1}, {"n_batch": 1, "n_dense": 1}, {"n_batch": 2}):
        np.testing.assert_array_equal(sparse.eye(3, 4, k=1, **options).todense(), np.eye(3, 4, 1))
    assert sparse.eye(3, n_batch=1).nse == 1 and sparse.eye(3, k=9).nse == 0
    x = sparse.empty((2, 3, 4), n_batch=1, n_dense=1, nse=2, dtype="int32")
    assert x.data.shape == (2, 2, 4) and not x.todense().any()


@pytest.mark.narrow
def test_random_places_are_different():
    key = rb.random.key(0)
    for shape, nse, n_batch in (
        ((4, 5), 7, 0),
        ((3, 4, 5), 0.5, 1),
        ((10**5, 10**5), 1000, 0),
        ((2, 30, 4), 30, 0),
    ):
        x = sparse.random_bcoo(key, shape, nse=nse, n_batch=n_batch, sorted_indices=True)
        assert x.shape == shape and x.dtype == "float32"
        sparse.BCOO((x.data, x.indices), shape=shape, indices_sorted=True, unique_indices=True)
        assert (np.asarray(x.indices) < np.array(shape[n_batch:])).all()
    assert sparse.random_bcoo(key, (4, 5)).nse == 4
    twice = sparse.random_bcoo(
        key, (2, 2), nse=2, unique_indices=False, n_dense=1, generator=rb.random.normal
    )
    assert twice.data.shape == (2, 2) and not twice.unique_indices
    with pytest.raises(ValueError, match="expected to be between 0 and 20"):
        sparse.random_bcoo(key, (4, 5), nse=70)


def test_a_sparse_array_is_no_dense_one_by_accident(draw):
    x = sparse.BCOO.fromdense(draw(3, 3))
    with pytest.raises(TypeError, match="todense"):
        np.asarray(x)
    with pytest.raises(TypeError):
        rnp.sin(x)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(TypeError, match="coo_matvec takes a COO, got BCOO"):
        sparse.coo_matvec(x, np.ones(3))
    assert len(x) == 3 and len(list(x)) == 3 and bool(sparse.BCOO.fromdense(np.float32(2)))


def test_bcsr_is_rearranged_as_bcoo_is(draw):
    host = draw(3, 4)
    x = sparse.BCSR.fromdense(host)
    for dimension in (0, 1):
        out = sparse.bcsr_concatenate([x, x], dimension=dimension)
        assert type(out) is sparse.BCSR and out.indices_sorted
        np.testing.assert_array_equal(out.todense(), np.concatenate([host, host], dimension))
    out = sparse.bcsr_broadcast_in_dim(x, shape=(2, 3, 4), broadcast_dimensions=(1, 2))
    assert (type(out), out.n_batch) == (sparse.BCSR, 1)
    np.testing.assert_array_equal(out.todense(), np.stack([host, host]))
    with pytest.raises(ValueError, match="must have 2 sparse dimensions, got 3"):
        sparse.bcsr_broadcast_in_dim(x, shape=(3, 2, 4), broadcast_dimensions=(0, 2))
    with pytest.raises(TypeError, match="bcsr_concatenate"):
        sparse.bcsr_concatenate([x.to_bcoo()], dimension=0)


def test_entries_of_one_place_become_one():
    parts = rnp.array([1.0, 2.0, 5.0]), rnp.array([1, 1, 0]), rnp.array([0, 2, 3])
    twice = sparse.BCSR(parts, shape=(2, 2))
    out = sparse.bcsr_sum_duplicates(twice)
    assert (type(out), out.nse, out.data.tolist(), out.indptr.tolist()) == (sparse.BCSR, 2, [3, 5], [0, 1, 2])
    np.testing.assert_array_equal(sparse.bcsr_sum_duplicates(twice, nse=4).todense(), twice.todense())
