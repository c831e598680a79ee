"""Operations on sparse arrays against the same on dense ones, in every layout and also with padding."""

import itertools

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental import sparse

LAYOUTS = [(b, d) for b in range(3) for d in range(3 - b)]


def in_layouts(a, layouts=LAYOUTS):
    """The array in several layouts, and with padding, out of order, and with places that occur twice."""
    for n_batch, n_dense in layouts:
        yield sparse.BCOO.fromdense(a, n_batch=n_batch, n_dense=n_dense)
    x = sparse.BCOO.fromdense(a, nse=np.count_nonzero(a) + 2)
    x = x + x * 0.0
    order = np.random.default_rng(1).permutation(x.nse)
    yield sparse.BCOO((x.data[order], x.indices[order]), shape=a.shape)


def check(out, want):
    assert out.shape == want.shape
    assert isinstance(out, sparse.JAXSparse)
    np.testing.assert_array_equal(out.todense(), want)
    if isinstance(out, sparse.BCOO):  # its promises hold
        flags = {"indices_sorted": out.indices_sorted, "unique_indices": out.unique_indices}
        sparse.BCOO((out.data, out.indices), shape=out.shape, **flags)


STRUCTURE = {
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose((1, 2, 0)),
    "negative axes": lambda x: x.transpose((-1, 0, 1)),
    "reshape": lambda x: x.reshape(4, -1),
    "reshape all": lambda x: x.reshape(24),
    "reshape F": lambda x: x.reshape((6, 4), order="F"),
    "part": lambda x: x[0],
    "last": lambda x: x[-1],
    "element": lambda x: x[1, 2, 0],
    "slices": lambda x: x[:, 1:3, ::2],
    "steps": lambda x: x[::2, 1::2],
    "backwards": lambda x: x[:, ::-1],
    "new": lambda x: x[:, None],
    "dots": lambda x: x[..., 1],
    "empty": lambda x: x[:, 2:2],
    "fancy": lambda x: x[np.array([1, 0, 1])],
    "fancy 2": lambda x: x[np.array([1, 0]), np.array([2, 1])],
    "sum": lambda x: x.sum(1),
    "sum 2": lambda x: x.sum((0, -1)),
    "sum kept": lambda x: x.sum(0, keepdims=True),
    "negated": lambda x: -x,
    "abs": lambda x: abs(x - 3 * x),
    "square": lambda x: x**2,
    "scaled": lambda x: 2 * x / 4,
    "twice": lambda x: x + x,
    "itself": lambda x: x * x,
    "minus": lambda x: x - 2.0 * x,
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure_and_arithmetic_are_those_of_arrays(draw, name):
    a = draw(2, 3, 4)
    layouts = [(1, 1), (0, 0)] if name in ("T", "slices", "sum", "reshape", "fancy") else []
    for x in in_layouts(a, layouts):
        check(STRUCTURE[name](x), STRUCTURE[name](a) if name != "reshape F" else a.reshape((6, 4), order="F"))


def test_with_dense_operands(draw):
    a = draw(2, 3, 4)
    for x in in_layouts(a, [(1, 1)]):
        for shape in ((), (4,), (2, 3, 4), (2, 1, 1)):
            b = 2.0 ** draw(*shape, density=1.0)
            check(x * b, a * b)
            check(b * x, a * b)
            check(x / b, a / b)
        b = draw(2, 3, 4)
        np.testing.assert_array_equal(x + b, a + b)
        np.testing.assert_array_equal(b - x, b - a)
    m = sparse.BCOO.fromdense(a[0])
    check(m * np.ones((2, 3, 4), "float32"), np.broadcast_to(a[0], (2, 3, 4)))
    check(sparse.bcoo_extract(m, a[1]), np.where(a[0] != 0, a[1], 0))
    twice = m + m
    check(sparse.bcoo_extract(twice, a[1]), np.where(a[0] != 0, a[1], 0))
    assert sparse.bcoo_extract(twice, a[1], assume_unique=True).data.shape == (twice.nse,)


def test_padding_stays_zero():
    a = np.float32([[1, 0, 2], [0, 0, 3]])
    x = sparse.BCOO.fromdense(a, nse=6)
    y = np.float32([[1, 2, 4], [2, 2, 2]])
    for found, wanted in ((x / y, [1, 0.5, 1.5]), (x * y, [1, 8, 6]), (x / y[:1], [1, 0.5, 0.75])):
        assert found.data.tolist() == [*wanted, 0, 0, 0]
    empty = sparse.BCOO.fromdense(np.zeros((0, 3), "float32"), nse=2)
    assert (empty / np.ones((0, 3), "float32")).data.tolist() == [0, 0]


@pytest.mark.needs("grad")
def test_derivatives_of_quotients_are_zero_at_padding():
    a = np.float32([[1, 0, 2], [0, 0, 3]])
    x, y = sparse.BCOO.fromdense(a, nse=4), np.float32([[1, 2, 4], [2, 2, 2]])
    slope = rb.grad(lambda data: (x._with_data(data) / y).data.sum())(x.data)
    assert slope.tolist() == [1, 0.25, 0.5, 1]
    slope = rb.grad(lambda y: (x / y).data.sum())(y)
    assert slope.tolist() == [[-1, 0, -0.125], [0, 0, -0.75]]


def test_with_sparse_operands(draw):
    a, b = draw(2, 3, 4), draw(2, 3, 4)
    for x, y in itertools.product(in_layouts(a, [(1, 1)]), in_layouts(b, [(2, 0)])):
        check(x + y, a + b)
        check(x * y, a * b)
        check(x - y, a - b)
    row = sparse.BCOO.fromdense(b[0, :1])
    check(sparse.BCOO.fromdense(a) * row, a * b[0, :1])
    check(sparse.BCOO.fromdense(a) + row, a + b[0, :1])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenate(draw, axis):
    a = draw(2, 3, 4)
    for n_batch, n_dense in [(0, 0), (1, 1)]:
        parts = [a, a[:1], 2 * a]
        parts = [a, 2 * a] if axis else parts
        mats = [sparse.BCOO.fromdense(p, n_batch=n_batch, n_dense=n_dense) for p in parts]
        check(sparse.bcoo_concatenate(mats, dimension=axis), np.concatenate(parts, axis))
    one = sparse.BCOO((np.float32([7, 1]), np.array([[2], [0]])), shape=(2,))  # padding would get inside
    assert sparse.bcoo_concatenate([one, one], dimension=0).todense().tolist() == [1, 0, 1, 0]


def test_broadcast_in_dim(draw):
    a = draw(3, 1)
    for x in in_layouts(a, [(1, 0), (0, 1)]):
        for shape, at in (((3, 4), (0, 1)), ((3, 1, 2), (0, 1)), ((2, 3, 5, 4), (1, 3))):
            out = sparse.bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=at)
            check(out, np.asarray(lax.broadcast_in_dim(a, shape, at)))


def test_dynamic_slices_start_where_those_of_arrays_do(draw):
    a = draw(2, 3, 4)
    for x in in_layouts(a, [(1, 0), (0, 1)]):
        for starts in ((0, 1, 1), (0, -1, 7)):
            want = lax.dynamic_slice(a, starts, (1, 2, 3))
            check(sparse.bcoo_dynamic_slice(x, starts, (1, 2, 3)), np.asarray(want))
            traced = rb.jit(lambda x, s: sparse.bcoo_dynamic_slice(x, s, (1, 2, 3)))
            if x.n_batch == 1:
                check(traced(x, starts), np.asarray(want))


def pairings(lhs, rhs):
    """All dimension numbers with at most two pairs."""
    for k in range(3):
        for left in itertools.permutations(range(len(lhs)), k):
            for right in itertools.permutations(range(len(rhs)), k):
                if all(lhs[a] == rhs[b] for a, b in zip(left, right)):
                    for n in range(k + 1):
                        yield (left[n:], right[n:]), (left[:n], right[:n])


@pytest.mark.parametrize("n_batch, n_dense", [(0, 0), (1, 1)])
def test_dot_general_with_a_dense_array(draw, n_batch, n_dense):
    a, b = draw(2, 3, 4), draw(3, 4)
    x = sparse.BCOO.fromdense(a, n_batch=n_batch, n_dense=n_dense)
    for numbers in list(pairings(a.shape, b.shape))[::2]:
        want = np.asarray(lax.dot_general(a, b, numbers))
        np.testing.assert_array_equal(sparse.bcoo_dot_general(x, b, dimension_numbers=numbers), want)
    numbers = ((0,), (1,)), ((), ())
    turned = sparse.bcoo_dot_general(b, x, dimension_numbers=numbers)
    np.testing.assert_array_equal(turned, lax.dot_general(b, a, numbers))


@pytest.mark.exhaustive
@pytest.mark.parametrize("n_batch, n_dense", LAYOUTS)
def test_dot_general_in_every_layout(draw, n_batch, n_dense):
    a = draw(2, 3, 4)
    x = sparse.BCOO.fromdense(a, n_batch=n_batch, n_dense=n_dense)
    for shape in ((4,), (3, 5), (3, 4, 2), (2, 3, 4)):
        b = draw(*shape, density=1.0)
        y = sparse.BCOO.fromdense(draw(*shape))
        # They compile two programs each: every layout has some of them, others than its neighbours.
        for numbers in list(pairings(a.shape, shape))[n_batch + 3 * n_dense :: 12]:
            out = sparse.bcoo_dot_general(x, b, dimension_numbers=numbers)
            np.testing.assert_array_equal(out, lax.dot_general(a, b, numbers))
            both = sparse.bcoo_dot_general(x, y, dimension_numbers=numbers)
            np.testing.assert_array_equal(both.todense(), lax.dot_general(a, y.todense(), numbers))


def test_products_of_two_sparse_arrays(draw):
    a, b = draw(2, 3, 4), draw(2, 4, 3)
    for x, y in itertools.product(in_layouts(a, [(1, 0)]), in_layouts(b, [(1, 0)])):
        numbers = (((2,), (1,)), ((0,), (0,)))
        check(sparse.bcoo_dot_general(x, y, dimension_numbers=numbers), a @ b)
    x, y = sparse.BCOO.fromdense(a[0]), sparse.BCOO.fromdense(b[0])
    out = x @ y
    assert out.nse == np.count_nonzero(a[0] @ b[0]) and out.indices_sorted and out.unique_indices
    check(rb.jit(lambda x, y: x @ y)(x, y), a[0] @ b[0])
    numbers = (((0, 1), (1, 0)), ((), ()))
    assert float(sparse.bcoo_dot_general(x, y, dimension_numbers=numbers).todense()) == np.trace(a[0] @ b[0])
    check(x @ sparse.empty((4, 2)), np.zeros((3, 2), "float32"))


def test_matmul_has_numpys_rules(draw):
    a, b, v = draw(2, 3, 4), draw(2, 4, 5), draw(4)
    for x in in_layouts(a, [(1, 1)]):
        np.testing.assert_array_equal(x @ v, a @ v)
        np.testing.assert_array_equal(x @ b, a @ b)
        np.testing.assert_array_equal(x @ b[0], a @ b[0])
        np.testing.assert_array_equal(v[:3] @ x, v[:3] @ a)
        check(x @ sparse.BCOO.fromdense(b), a @ b)
    m = sparse.BCOO.fromdense(a[0])
    np.testing.assert_array_equal(m @ b, a[0] @ b)
    check(m @ sparse.BCOO.fromdense(b, n_batch=1), a[0] @ b)
    with pytest.raises(TypeError, match="have sizes 4 and 3"):
        m @ np.ones(3)
    with pytest.raises(TypeError, match="no dimensions"):
        m @ 2.0


@pytest.mark.narrow
def test_dtypes_of_products(draw):
    x = sparse.BCOO.fromdense(draw(3, 4, dtype="int32"))
    assert (x @ np.ones(4, "float32")).dtype == "float32" and (x @ np.ones(4, "int8")).dtype == "int32"
    numbers = (((1,), (0,)), ((), ()))
    out = sparse.bcoo_dot_general(
        x, np.ones(4, "int32"), dimension_numbers=numbers, preferred_element_type="float32"
    )
    assert out.dtype == "float32"
    mask = sparse.BCOO.fromdense(draw(3, 4) > 0)
    assert mask.todense().dtype == bool and (mask.sum(0)).dtype == "int32"
    z = sparse.BCOO.fromdense(draw(3, 4) * np.complex64(1j))
    np.testing.assert_array_equal(z @ np.ones(4, "float32"), z.todense().sum(1))


def test_sampled_products(draw):
    a, b = draw(2, 3, 4, density=1.0), draw(2, 4, 5, density=1.0)
    numbers = (((2,), (1,)), ((0,), (0,)))
    x = sparse.BCOO.fromdense(draw(2, 3, 5), n_batch=1)
    data = sparse.bcoo_dot_general_sampled(a, b, x.indices, dimension_numbers=numbers)
    np.testing.assert_array_equal(data, sparse.bcoo_extract(x, rnp.asarray(a @ b)).data)
    flat = x.update_layout(n_batch=0)
    data = sparse.bcoo_dot_general_sampled(a, b, flat.indices, dimension_numbers=numbers)
    np.testing.assert_array_equal(data, sparse.bcoo_extract(flat, rnp.asarray(a @ b)).data)


@pytest.mark.parametrize("cls", [sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC])
def test_the_other_classes_compute_and_stay_what_they_are(draw, cls):
    a, b = draw(4, 5), draw(5, 3)
    x = cls.fromdense(a)
    np.testing.assert_array_equal(x @ b, a @ b)
    np.testing.assert_array_equal(b.T @ x.T, b.T @ a.T)
    np.testing.assert_array_equal(rb.jit(lambda x: x @ b)(x), a @ b)
    for out, want in (
        (x + x, a + a),
        (x * 2, a * 2),
        (-x, -a),
        (x * a, a * a),
        (x @ cls.fromdense(b), a @ b),
    ):
        check(out, want)
        assert type(out) is cls
    check(x[1:3], a[1:3])
    assert float(x.sum()) == a.sum()
    assert x.sum(0).todense().tolist() == a.sum(0).tolist()


def test_functions_of_the_formats(draw):
    a, v, m = draw(4, 5), draw(5), draw(5, 2)
    coo, csr = sparse.COO.fromdense(a), sparse.CSR.fromdense(a)
    np.testing.assert_array_equal(sparse.coo_matvec(coo, v), a @ v)
    np.testing.assert_array_equal(sparse.csr_matvec(csr, v), a @ v)
    np.testing.assert_array_equal(sparse.coo_matmat(coo, m), a @ m)
    np.testing.assert_array_equal(sparse.csr_matmat(csr, a, transpose=True), a.T @ a)
    np.testing.assert_array_equal(sparse.coo_todense(sparse.coo_fromdense(a)), a)
    np.testing.assert_array_equal(sparse.csr_todense(sparse.csr_fromdense(a)), a)
    bcsr = sparse.bcsr_fromdense(a)
    np.testing.assert_array_equal(sparse.bcsr_todense(bcsr), a)
    want = sparse.bcoo_extract(bcsr.to_bcoo(), a * 2).data
    np.testing.assert_array_equal(sparse.bcsr_extract(bcsr.indices, bcsr.indptr, a * 2), want)
    numbers = (((0,), (0,)), ((), ()))
    np.testing.assert_array_equal(sparse.bcsr_dot_general(bcsr, a, dimension_numbers=numbers), a.T @ a)
    batched = sparse.BCSR.fromdense(draw(2, 3, 4), n_batch=1)
    np.testing.assert_array_equal(batched @ v[:4], batched.todense() @ v[:4])


def test_what_would_be_dense_is_refused(draw):
    x = sparse.BCOO.fromdense(draw(3, 4))
    for make in (
        lambda: x + 1,
        lambda: 1 - x,
        lambda: 2 / x,
        lambda: x**0,
        lambda: 2**x,
        lambda: x == x,
        lambda: x < 1,
    ):
        with pytest.raises(sparse.DensifyError, match=r"dense array, .*\[3, 4\] of 48 bytes"):
            make()
    assert issubclass(sparse.DensifyError, NotImplementedError)


def test_numbers_of_arguments_are_not_rounded(draw):
    a = draw(3, 4)
    x = sparse.BCOO.fromdense(a)
    for call, argument in (
        (lambda: sparse.bcoo_fromdense(a, nse=12.5), "nse"),
        (lambda: sparse.bcoo_fromdense(a, n_batch=1.0), "n_batch"),
        (lambda: sparse.bcsr_fromdense(a, nse=12.5), "nse"),
        (lambda: sparse.csr_fromdense(a, nse=12.5), "nse"),
        (lambda: sparse.eye(2.5), "N"),
        (lambda: sparse.eye(2, k=0.5), "k"),
        (lambda: sparse.empty((3.5,)), "shape"),
        (lambda: sparse.empty((3,), nse=1.5), "nse"),
        (lambda: sparse.random_bcoo(rb.random.key(0), (3, 3), nse=1.5), "nse"),
        (lambda: sparse.bcoo_sum_duplicates(x, nse=1.5), "nse"),
        (lambda: sparse.bcoo_concatenate([x, x], dimension=0.5), "dimension"),
        (lambda: sparse.bcoo_reduce_sum(x, axes=(0.5,)), "axes"),
        (lambda: sparse.bcoo_transpose(x, permutation=(1.0, 0)), "permutation"),
        (lambda: sparse.bcoo_slice(x, start_indices=(0.5, 0), limit_indices=(2, 2)), "start_indices"),
        (lambda: sparse.bcoo_update_layout(x, n_dense=0.5), "n_dense"),
        (lambda: sparse.grad(lambda x: x.sum(), argnums=0.5), "argnums"),
        (lambda: sparse.jacfwd(lambda x: x.sum(), argnums=None), "argnums"),
    ):
        with pytest.raises(TypeError, match=f"{argument} must be an integer, got"):
            call()
    with pytest.raises(TypeError, match="bcoo_reduce_sum: axes must be a sequence of integers, got 0"):
        sparse.bcoo_reduce_sum(x, axes=0)
    assert sparse.bcoo_fromdense(a, nse=np.int64(12)).nse == 12


@pytest.mark.narrow
def test_sums_of_small_integers_are_wide():
    x = np.full((3, 4), 100, np.uint8)
    for mat in (sparse.BCOO.fromdense(x), sparse.BCSR.fromdense(x)):
        total, rows = mat.sum(), mat.sum(1).todense()
        assert (int(total), total.dtype) == (1200, np.uint32)
        assert rows.tolist() == [400] * 3 and rows.dtype == np.uint32
    assert sparse.BCOO.fromdense(x.astype("float16")).sum().dtype == np.float16
    assert sparse.BCOO.fromdense(x.astype("int8")).sum(dtype="int8").dtype == np.int8
