"""Transformations of functions of sparse arrays, sparsify, and derivatives by the stored values."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental import sparse


@pytest.fixture
def pair(draw):
    a = draw(2, 3, 4)
    return a, sparse.BCOO.fromdense(a, n_batch=1)


def test_vmap_and_scan_go_over_batch_dimensions(draw, pair):
    a, x = pair
    v = draw(4, density=1.0)
    np.testing.assert_array_equal(rb.vmap(lambda x: x @ v)(x), a @ v)
    np.testing.assert_array_equal(rb.vmap(lambda x: x)(x).todense(), a)
    np.testing.assert_array_equal(
        rb.vmap(lambda x, v: x @ v, (None, 0))(x, np.stack([v, 2 * v]))[1], 2 * (a @ v)
    )
    total, each = lax.scan(lambda c, x: (c + x @ v, x.T), np.zeros(3, "float32"), x)
    np.testing.assert_array_equal(total, (a @ v).sum(0))
    assert each.n_batch == 1
    np.testing.assert_array_equal(each.todense(), a.transpose(0, 2, 1))
    rows = sparse.BCSR.fromdense(a, n_batch=1)
    np.testing.assert_array_equal(rb.vmap(lambda x: x @ v)(rows), a @ v)
    np.testing.assert_array_equal(rb.tree.map(lambda leaf: leaf[1], x).todense(), a[1])


@pytest.mark.forbidden("disable_jit")
def test_a_dimension_that_is_no_batch_dimension_is_named(pair):
    x = pair[1].update_layout(n_batch=0)
    with pytest.raises(ValueError, match=r"not a batch dimension .*update_layout\(n_batch=1\)"):
        rb.vmap(lambda x: x.todense())(x)
    with pytest.raises(ValueError, match=r"has no batch dimensions.*update_layout"):
        sparse.sparsify(lambda x: lax.scan(lambda c, x: (c, x.sum()), 0, x))(x)


def test_messages_name_the_stored_arrays(pair):
    with pytest.raises(TypeError, match=r"argument 'x'\.indices has the type i32"):
        rb.grad(lambda x: x.sum())(pair[1])


def test_compiled_programs_take_and_give_sparse_arrays(pair):
    a, x = pair
    out = rb.jit(lambda x: x.sum(1) * 2)(x)
    np.testing.assert_array_equal(out.todense(), 2 * a.sum(1))
    shape = rb.eval_shape(lambda x: x @ np.ones(4, "float32"), x)
    assert shape.shape == (2, 3)
    np.testing.assert_array_equal(rb.device_put(x).todense(), a)


def gradients_agree(f, x, *others, argnums=0):
    """The gradient by stored values is the dense gradient at the stored places."""
    dense = rb.grad(lambda a: f(a, *others))(x.todense())
    ours = sparse.grad(f, argnums)(x, *others)
    assert type(ours) is type(x)
    want = sparse.bcoo_extract(x.to_bcoo(), dense, assume_unique=True).data
    np.testing.assert_allclose(ours.data, want, rtol=1e-5)
    np.testing.assert_array_equal(ours.to_bcoo().indices, x.to_bcoo().indices)


@pytest.mark.parametrize("cls", [sparse.BCOO, sparse.BCSR, sparse.COO, sparse.CSR])
def test_gradients_of_products(draw, cls):
    a, b = draw(4, 5), draw(5, 3, density=1.0)
    x = cls.fromdense(a)
    gradients_agree(lambda x: ((x @ b) ** 2).sum(), x)
    gradients_agree(lambda x: ((b.T @ x.T) ** 2).sum(), x)
    if cls is sparse.BCOO:
        gradients_agree(lambda x: sparse.todense((x @ x.T) ** 2).sum(), x)
        gradients_agree(lambda x: (sparse.todense(x.sum(0) * b[:, 0]) ** 2).sum(), x)
        gradients_agree(sparse.sparsify(lambda x: (rnp.sin(x).T[1:] @ b[:4, 0]).sum()), x)


def test_gradients_against_differences_in_double_precision(draw):
    with rb.enable_x64(True):
        b = draw(5, 3, density=1.0, dtype="float64")
        x = sparse.BCOO.fromdense(draw(4, 5, dtype="float64") / 10)
        f = sparse.sparsify(
            lambda x: (rnp.tanh(x @ b / 10) * (x * x).sum(1, keepdims=True)[:, :1].sum()).sum()
        )
        slope = sparse.grad(f)(x).data
        for k in range(x.nse):
            step = np.zeros(x.nse)
            step[k] = 1e-6
            moved = [f(x._with_data(x.data + s)) for s in (step, -step)]
            np.testing.assert_allclose(slope[k], (moved[0] - moved[1]) / 2e-6, rtol=1e-6)
        turned = rb.grad(lambda d: sparse.grad(f)(x._with_data(d)).data.sum())(x.data)
        _, along = rb.jvp(lambda d: sparse.grad(f)(x._with_data(d)).data, (x.data,), (np.ones(x.nse),))
        np.testing.assert_allclose(turned, along, rtol=1e-8)


def test_grad_takes_trees_other_arguments_and_aux(draw):
    a, b = draw(3, 4), draw(4, density=1.0)
    x = sparse.BCOO.fromdense(a)
    f = lambda p, b: ((p["x"] @ b * p["c"]).sum(), p["c"])
    (value, aux), (gp, gb) = sparse.value_and_grad(f, argnums=(0, 1), has_aux=True)({"x": x, "c": 2.0}, b)
    assert float(value) == 2 * (a @ b).sum() and float(aux) == 2
    assert isinstance(gp["x"], sparse.BCOO) and float(gp["c"]) == (a @ b).sum()
    np.testing.assert_array_equal(gb, 2 * a.sum(0))
    slope, aux = sparse.grad(f, has_aux=True)({"x": x, "c": 2.0}, b)
    np.testing.assert_array_equal(slope["x"].data, gp["x"].data)
    with pytest.raises(ValueError, match="names an argument that is not there"):
        sparse.grad(f, argnums=4)(x, b)
    with pytest.raises(TypeError, match="floating point"):
        sparse.grad(lambda x: x.sum())(sparse.eye(3, dtype="int32"))


@pytest.mark.parametrize("transform", ["jacfwd", "jacrev", "jacobian"])
def test_jacobians(draw, transform):
    a = draw(3, 4)
    v = draw(4, density=1.0)
    for x in (sparse.BCOO.fromdense(a), sparse.BCSR.fromdense(a), sparse.BCOO.fromdense(a, n_batch=1)):
        out = getattr(sparse, transform)(lambda x: (x @ v) ** 2)(x)
        assert type(out) is type(x) and out.n_batch == x.n_batch + 1
        want = rb.jacrev(lambda a: (a @ v) ** 2)(rnp.asarray(a)) * (a != 0).astype("float32")[None]
        np.testing.assert_allclose(out.todense(), want, rtol=1e-6)
    with pytest.raises(TypeError, match="returned a sparse array"):
        getattr(sparse, transform)(lambda x: x)(x)


@rb.custom_jvp
def thrice(x):
    return x * 3


thrice.defjvp(lambda primals, tangents: (thrice(*primals), thrice(*tangents)))


PROGRAMS = {
    "chain": lambda x, v: rnp.sin(x).T * 2 - x.T,
    "einsum": lambda x, v: rnp.einsum("ij,j->i", x, v),
    "mean": lambda x, v: x.mean(0) @ v,
    "concatenate": lambda x, v: rnp.concatenate([x, 2 * x]).sum(),
    "stack": lambda x, v: rnp.stack([x, x])[1],
    "jit": lambda x, v: rb.jit(lambda x: x @ v)(x),
    "cond": lambda x, v: lax.cond(v[0] > 0, lambda x: x * 2, lambda x: -x, x),
    "scan": lambda x, v: lax.scan(lambda c, _: (c * 2, c.sum()), x, None, length=3),
    "while": lambda x, v: lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * 2, c[1] + 1), (x, 0))[0],
    "fori": lambda x, v: lax.fori_loop(0, 3, lambda i, w: x.T @ (x @ w), v),
    "grad": lambda x, v: rb.grad(lambda v: ((x @ v) ** 2).sum())(v),
    "jvp": lambda x, v: rb.jvp(lambda v: x @ v, (v,), (v,))[1],
    "vmap": lambda x, v: rb.vmap(lambda v: x @ v)(rnp.stack([v, 2 * v])),
    "custom": lambda x, v: thrice(x),
    "checkpoint": lambda x, v: rb.checkpoint(lambda x: x @ v)(x),
    "constant": lambda x, v: rnp.ones((2, 2)),
    "fancy": lambda x, v: x[rnp.array([2, 0])],
    "square": lambda x, v: rnp.square(x) + x**3 + x**2.0,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sparsify_takes_sparse_arrays_through_programs(draw, name):
    a, v = draw(3, 4), draw(4, density=1.0) + 1
    program = PROGRAMS[name]
    want = rb.tree.leaves(program(rnp.asarray(a), v))
    f = sparse.sparsify(program)
    for run in (f, rb.jit(f)):
        out = run(sparse.BCOO.fromdense(a), v)
        leaves = [
            sparse.todense(x) for x in rb.tree.leaves(out, is_leaf=lambda x: isinstance(x, sparse.JAXSparse))
        ]
        assert len(leaves) == len(want)
        for got, right in zip(leaves, want):
            np.testing.assert_allclose(got, right, rtol=2e-6)


def test_sparsify_keeps_sparse_what_can_be(draw):
    x = sparse.BCOO.fromdense(draw(3, 4))
    kept, turned, number = sparse.sparsify(lambda x: (x, rnp.tanh(x).T, 3))(x)
    assert isinstance(kept, sparse.BCOO) and turned.nse == x.nse and number == 3
    rows = sparse.BCSR.fromdense(draw(3, 4))
    assert type(sparse.sparsify(rnp.sin)(rows)) is sparse.BCSR
    assert isinstance(sparse.sparsify(lambda x, y: x @ y)(x, x.T), sparse.BCOO)
    twice = x + x
    np.testing.assert_allclose(
        sparse.sparsify(rnp.sqrt)(twice).todense(), np.sqrt(2 * x.todense()), rtol=1e-6
    )
    assert sparse.sparsify(rnp.sin)(rnp.ones(3)).shape == (3,)


def test_vmap_around_sparsify(draw):
    a = draw(2, 3, 4)
    x = sparse.BCOO.fromdense(a, n_batch=1)
    out = rb.vmap(sparse.sparsify(lambda x: rnp.sin(x).T))(x)
    np.testing.assert_allclose(out.todense(), np.sin(a).transpose(0, 2, 1), rtol=1e-6)


def test_what_would_be_dense_is_named_and_can_be_allowed(draw):
    a = draw(3, 4)
    x = sparse.BCOO.fromdense(a)
    f = lambda x: rnp.exp(x) + 1
    with pytest.raises(sparse.DensifyError) as caught:
        sparse.sparsify(f)(x)
    text = str(caught.value)
    assert "'exp', which has no rule" in text and "float32[3, 4] of 48 bytes" in text
    assert "densify=('exp',)" in text and "sparse.todense(x)" in text
    for densify in (True, "exp", ("exp", "add")):
        np.testing.assert_allclose(sparse.sparsify(f, densify=densify)(x), f(a), rtol=1e-6)
    np.testing.assert_allclose(sparse.sparsify(lambda x: f(sparse.todense(x)))(x), f(a), rtol=1e-6)
    with pytest.raises(sparse.DensifyError, match="cos"):
        sparse.sparsify(rb.jit(lambda x: lax.scan(lambda c, _: (c, rnp.cos(x)), 0, None, 2)), densify="exp")(
            x
        )
    np.testing.assert_allclose(sparse.sparsify(rb.jit(rnp.cos), densify=True)(x), np.cos(a), rtol=1e-6)


@pytest.mark.forbidden("disable_jit")
def test_branches_that_do_not_agree(draw):
    x = sparse.BCOO.fromdense(draw(3, 4))
    f = lambda x: lax.cond(x.sum() > 0, lambda x: x, lambda x: sparse.todense(x), x)
    with pytest.raises(sparse.DensifyError, match="brings together a dense array and a BCOO"):
        sparse.sparsify(f)(x)
    f = lambda x: lax.cond(x.sum() > 0, lambda x: sparse.todense(x), lambda x: -sparse.todense(x), x)
    np.testing.assert_array_equal(sparse.sparsify(f)(x), x.todense())
    out = sparse.sparsify(lambda x: lax.cond(x.sum() > 0, lambda x: x, lambda x: x.T.T, x))(x)
    assert not out.indices_sorted and out.unique_indices
