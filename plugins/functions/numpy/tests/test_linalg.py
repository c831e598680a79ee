"""``rabbet.numpy.linalg`` against NumPy's, derivatives against finite differences, messages."""

import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

random = np.random.default_rng(5)
REAL = random.normal(size=(2, 4, 4))
COMPLEX = REAL + 1j * random.normal(size=(2, 4, 4))
WIDE, TALL = random.normal(size=(2, 3, 5)), random.normal(size=(2, 5, 3))
SIX = random.normal(size=(2, 3, 6))
SIDE, VECTOR = random.normal(size=(2, 4, 3)), random.normal(size=4)


def definite(a):
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(a.shape[-1])


def ours(x):
    with rb.config.override(explicit_x64_dtypes="allow"):
        return rnp.asarray(x, dtype=x.dtype) if isinstance(x, np.ndarray) else x


def close(found, wanted):
    found, wanted = rb.tree.leaves(found), list(wanted) if isinstance(wanted, tuple) else [wanted]
    for a, b in zip(found, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype.kind == b.dtype.kind
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


SAME = [
    ("cholesky", definite(REAL)), ("cholesky", definite(COMPLEX)),
    ("solve", REAL, SIDE), ("solve", REAL, VECTOR), ("solve", COMPLEX, COMPLEX), ("solve", REAL[0], SIDE),
    ("inv", REAL), ("inv", COMPLEX), ("pinv", WIDE), ("pinv", TALL), ("pinv", COMPLEX),
    ("det", REAL), ("det", COMPLEX), ("det", REAL[:, :3, :3]), ("det", REAL[:, :2, :2]),
    ("det", REAL[:, :1, :1]), ("det", np.zeros((2, 0, 0))),
    ("slogdet", REAL), ("slogdet", COMPLEX), ("slogdet", np.zeros((4, 4))),
    ("eigvalsh", definite(REAL)), ("svdvals", WIDE), ("matrix_rank", WIDE), ("matrix_rank", VECTOR),
    ("matrix_rank", np.ones((3, 3))), ("cond", REAL), ("cond", TALL),
    ("matrix_power", REAL, 0), ("matrix_power", REAL, 5), ("matrix_power", REAL, -2),
    ("tensorinv", SIX), ("tensorsolve", SIX, WIDE[0, :2, :3]),
    ("cross", TALL, TALL[::-1]), ("outer", VECTOR, VECTOR), ("diagonal", WIDE), ("trace", WIDE),
    ("matrix_transpose", WIDE), ("matmul", WIDE, TALL), ("tensordot", WIDE, WIDE[0]),
    ("vecdot", WIDE, WIDE),
    ("lstsq", TALL[0], TALL[1]), ("lstsq", TALL[0], TALL[1, :, 0]),
]  # fmt: skip


@pytest.mark.parametrize("case", SAME, ids=lambda c: f"{c[0]}-{np.shape(c[1])}")
def test_as_in_numpy(case):
    name, *args = case
    kwargs = {"rcond": None} if name == "lstsq" else {}
    close(getattr(rnp.linalg, name)(*map(ours, args)), getattr(np.linalg, name)(*args, **kwargs))


@pytest.mark.parametrize("name", ["qr", "svd", "eigh", "eig"])
@pytest.mark.parametrize("a", [REAL, COMPLEX], ids=["real", "complex"])
def test_factors_give_the_matrix_back(name, a):
    a = definite(a) if name == "eigh" else a
    x, y, *more = map(np.asarray, getattr(rnp.linalg, name)(ours(a)))
    if name == "qr":
        back = x @ y
    elif name == "svd":
        back = (x * y[..., None, :]) @ more[0]
    else:
        back, a = a @ y, y * x[..., None, :]
    np.testing.assert_allclose(back, a, atol=1e-9)


def test_hermitian_matrices_by_eigenvalues():
    a = definite(COMPLEX) - 4 * np.eye(4)
    u, s, vh = map(np.asarray, rnp.linalg.svd(ours(a), hermitian=True))
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, a, atol=1e-9)
    close(s, np.linalg.svd(a, compute_uv=False))
    close(rnp.linalg.svd(ours(a), compute_uv=False, hermitian=True), s)
    close(rnp.linalg.pinv(ours(a), hermitian=True), np.linalg.inv(a))
    close(rnp.linalg.matrix_rank(ours(a), hermitian=True), np.full(2, 4))


def test_forms_of_qr_and_cholesky():
    for mode, shapes in (
        ("complete", [(2, 5, 5), (2, 5, 3)]),
        ("r", [(2, 3, 3)]),
        ("raw", [(2, 3, 5), (2, 3)]),
    ):
        assert [x.shape for x in rb.tree.leaves(rnp.linalg.qr(ours(TALL), mode))] == shapes
    close(rnp.linalg.qr(ours(TALL), "raw")[1], np.linalg.qr(TALL, "raw")[1])
    upper = rnp.linalg.cholesky(ours(definite(COMPLEX)), upper=True)
    close(upper, np.linalg.cholesky(definite(COMPLEX), upper=True))


ORDERS = [None, "fro", "nuc", np.inf, -np.inf, 1, -1, 2, -2]


@pytest.mark.parametrize("ord", ORDERS, ids=str)
def test_norms_of_matrices(ord):
    close(rnp.linalg.norm(ours(WIDE), ord, (1, 2)), np.linalg.norm(WIDE, ord, (1, 2)))
    wanted = np.linalg.norm(COMPLEX[0].T, ord, keepdims=True)
    close(rnp.linalg.norm(ours(COMPLEX[0].T.copy()), ord, keepdims=True), wanted)
    if ord is not None:
        close(rnp.linalg.matrix_norm(ours(WIDE), ord=ord), np.linalg.matrix_norm(WIDE, ord=ord))
    close(rnp.linalg.cond(ours(REAL), ord), np.linalg.cond(REAL, ord))


@pytest.mark.parametrize("ord", [None, np.inf, -np.inf, 0, 1, 2, 3, -1.5], ids=str)
def test_norms_of_vectors(ord):
    close(rnp.linalg.norm(ours(WIDE), ord, 1), np.linalg.norm(WIDE, ord, 1))
    close(rnp.linalg.norm(ours(WIDE + 1j), ord, 0), np.linalg.norm(WIDE + 1j, ord, 0))
    if ord is not None:
        close(rnp.linalg.vector_norm(ours(WIDE), ord=ord), np.linalg.vector_norm(WIDE, ord=ord))
    close(rnp.linalg.norm(ours(WIDE)), np.linalg.norm(WIDE))


def test_a_chain_is_multiplied_in_the_cheapest_order():
    chain = [random.normal(size=s) for s in [(10, 100), (100, 5), (5, 50)]]
    close(rnp.linalg.multi_dot(list(map(ours, chain))), np.linalg.multi_dot(chain))
    vectors = [VECTOR, REAL[0], REAL[1], VECTOR]
    close(rnp.linalg.multi_dot(list(map(ours, vectors))), np.linalg.multi_dot(vectors))


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.narrow
def test_integers_and_singular_matrices():
    ints = rnp.array([[2, 1], [1, 1]])
    assert rnp.linalg.inv(ints).dtype == np.float32
    assert not np.isfinite(np.asarray(rnp.linalg.inv(rnp.ones((2, 2))))).all()
    assert rnp.linalg.solve(rnp.zeros((0, 0)), rnp.zeros((0,))).shape == (0,)


# ---------------------------------------------------------------------------------------------- derivatives
SMOOTH = {
    "solve": (lambda a, b: rnp.linalg.solve(a, b), REAL, SIDE),
    "det": (rnp.linalg.det, REAL), "slogdet": (lambda a: rnp.linalg.slogdet(a)[1], REAL),
    "pinv": (rnp.linalg.pinv, WIDE),
    "lstsq": (lambda a, b: rnp.linalg.lstsq(a, b)[0], TALL[0], TALL[1]),
}  # fmt: skip


@pytest.mark.needs("grad", "jit")
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    function, *args = SMOOTH[name]
    args = [ours(a) for a in args]
    ts = tuple([ours(np.random.default_rng(1).normal(size=a.shape)) for a in args])
    ct = np.random.default_rng(2).normal(size=rb.eval_shape(function, *args).shape)
    step = 1e-5

    def push(*args):
        return rb.jvp(function, args, ts)[1]

    def difference(f, args):
        ends = [f(*[a + s * t for a, t in zip(args, ts, strict=True)]) for s in (step, -step)]
        return (ends[0] - ends[1]) / (2 * step)

    @rb.jit
    def both_sides(ct, *args):
        pulled = rb.vjp(function, *args)[1](ct)
        paired = sum(rnp.vdot(p, t) for p, t in zip(pulled, ts, strict=True))
        twice = rb.jvp(push, args, ts)[1]
        tangent = push(*args)
        return (
            tangent,
            difference(function, args),
            rnp.vdot(ct, tangent),
            paired,
            twice,
            difference(push, args),
        )

    tangent, wanted, first, second, twice, wanted_twice = both_sides(ours(ct), *args)
    np.testing.assert_allclose(tangent, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(first, second, rtol=1e-9)
    np.testing.assert_allclose(twice, wanted_twice, rtol=1e-4, atol=1e-4)


@pytest.mark.needs("grad")
def test_the_pseudo_inverse_of_an_orthogonal_matrix_has_a_derivative():
    gradient = rb.grad(lambda a: rnp.linalg.pinv(a)[0, 1])(rnp.eye(3))
    assert np.asarray(gradient).tolist() == [[0, -1, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.needs("vmap")
@pytest.mark.parametrize("name", ["solve", "pinv", "det", "slogdet"])
def test_mapped(name):
    args = [ours(REAL), ours(SIDE)][: 2 if name == "solve" else 1]
    function = getattr(rnp.linalg, name)
    close(rb.vmap(function)(*args), tuple(map(np.asarray, rb.tree.leaves(function(*args)))))


# ------------------------------------------------------------------------------------------------- messages
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rnp.linalg.inv(ours(WIDE)), r"inv takes square matrices.* got f64\[2,3,5\]"),
        (lambda: rnp.linalg.solve(ours(REAL), ours(WIDE)), r"solve takes .* f64\[2,4,4\] and f64\[2,3"),
        (lambda: rnp.linalg.qr(ours(WIDE), "economic"), "mode must be one of 'reduced'.* got 'economic'"),
        (lambda: rnp.linalg.norm(ours(WIDE), 3, (0, 1)), "for matrices ord must be one of None, 'fro'"),
        (lambda: rnp.linalg.norm(ours(WIDE), 1), "takes a vector or a matrix"),
        (lambda: rnp.linalg.norm(ours(VECTOR), "fro"), "ord='fro' is for matrices"),
        (lambda: rnp.linalg.multi_dot([ours(VECTOR)]), "at least two matrices"),
        (lambda: rnp.linalg.outer(ours(WIDE), ours(VECTOR)), "outer takes vectors"),
        (lambda: rnp.linalg.cross(ours(WIDE), ours(WIDE)), "arrays of size 3"),
        (lambda: rnp.linalg.lstsq(ours(REAL), ours(WIDE)), r"lstsq takes a of shape \(\.\.\., m, n\)"),
        (lambda: rnp.linalg.tensorinv(ours(WIDE), ind=1), "as many elements in the first 1 dimensions"),
        (lambda: rnp.linalg.tensorsolve(ours(WIDE), ours(VECTOR)), "tensorsolve takes a of the shape of b"),
    ],
)  # fmt: skip
def test_messages(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_it_is_imported_when_it_is_used():
    code = "import sys, rabbet.numpy as rnp; print('rabbet.numpy.linalg' in sys.modules, rnp.linalg.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "rabbet.numpy.linalg"]


def test_qr_by_its_older_names():
    a = rnp.array(np.float32([[1, 2], [3, 4], [5, 6]]))
    full = rnp.linalg.qr(a, mode="full")
    for out, want in zip(full, rnp.linalg.qr(a)):
        np.testing.assert_array_equal(np.asarray(out), np.asarray(want))
    raw = rnp.linalg.qr(a, mode="raw")
    assert raw.Q.shape == (2, 3) and raw.R.shape == (2,)
