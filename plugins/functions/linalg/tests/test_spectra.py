"""The laws of QR, SVD and eigenvalues, then what signs and phases do not change, corners and messages."""

import functools
from typing import Any, NamedTuple

import numpy as np
import pytest
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.extend.backend import lower_program
from rabbet.extend.passes import stage
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.rows.spectra import ROWS
from rabbet.testing import checks, driver
from rabbet.testing.draws import device_array, floats, some
from rabbet.testing.suite import law_tests

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)

linalg = lax.linalg
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((2, 4, 3), (3, 4))
CORNERS = ((3, 3), (2, 2, 1, 1), (3, 0), (0, 3), (0, 2, 2))


def random(*shape, dtype="float64"):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def on_host(arrays):
    return [np.asarray(x) for x in arrays]


def evaluated(fn, *arrays):
    """What ``fn``, which returns several arrays, computes: one program, quickly compiled."""
    return on_host(checks.evaluated(lambda *xs: list(fn(*xs)), [device_array(x) for x in arrays], "test"))


def shapes(dtype):
    """The sizes to try; the corners in one dtype only."""
    return SHAPES + CORNERS if dtype == "float64" else SHAPES


def close(got, wanted):
    assert np.allclose(got, wanted, rtol=1e-4, atol=1e-4)


def unitary(q):
    close(adjoint(q) @ q, np.eye(q.shape[-1]))


# ------------------------------------------------------------------------------------------ reconstruction
@pytest.mark.parametrize("dtype", DTYPES)
def test_qr_gives_the_matrix_back(dtype):
    for shape in shapes(dtype):
        a = random(*shape, dtype=dtype)
        for full in (True, False):

            def both(x, full=full):
                plain = linalg.qr(x, full_matrices=full)
                return (*plain, *linalg.qr(x, full_matrices=full, pivoting=True))

            q, r, other_q, other_r, p = evaluated(both, a)
            unitary(q)
            close(q @ r, a)
            assert (np.tril(r, -1) == 0).all()
            close(other_q @ other_r, np.take_along_axis(a, p[..., None, :], -1))
            size = np.abs(np.diagonal(other_r, axis1=-2, axis2=-1))
            assert (np.diff(size) <= 1e-6).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_svd_gives_the_matrix_back(dtype):
    for shape in shapes(dtype):
        a = random(*shape, dtype=dtype)
        for full, algorithm in ((True, None), (False, linalg.SvdAlgorithm.QR)):

            def both(x, full=full, algorithm=algorithm):
                vectors = linalg.svd(x, full_matrices=full, algorithm=algorithm)
                return *vectors, linalg.svd(x, compute_uv=False, algorithm=algorithm)

            u, s, vh, alone = evaluated(both, a)
            k = s.shape[-1]
            unitary(u)
            unitary(adjoint(vh))
            assert u.shape[-1] == (shape[-2] if full else k)
            close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a)
            assert (np.diff(s) <= 0).all() and s.dtype == a.real.dtype
            close(alone, s)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvectors_are_eigenvectors(dtype):
    for shape in ((3, 3), (2, 2, 1, 1), (0, 0), (0, 2, 2)):
        a = random(*shape, dtype=dtype)
        h = a + adjoint(a)
        w, vl, vr, v, e = evaluated(lambda x, y: (*linalg.eig(x), *linalg.eigh(y)), a, h)
        close(a @ vr, vr * w[..., None, :])
        close(adjoint(vl) @ a, w[..., None] * adjoint(vl))
        unitary(v)
        close(h @ v, v * e[..., None, :])
        assert (np.diff(e) >= 0).all() and e.dtype == a.real.dtype


def test_eigh_reads_one_triangle_or_the_mean_of_both():
    a = random(3, 3)
    for lower in (True, False):
        half = np.tril(a) if lower else np.triu(a).T
        h = half + np.tril(half, -1).T
        w = linalg.eigh(device_array(a), lower=lower, symmetrize_input=False)[1]
        close(w, np.linalg.eigvalsh(h))
    close(linalg.eigh(device_array(a))[1], np.linalg.eigvalsh((a + a.T) / 2))


def test_a_part_of_the_spectrum():
    a = random(4, 3)
    u, s, vh = on_host(linalg.svd(device_array(a), full_matrices=False))
    some_u, some_s, some_vh = linalg.svd(device_array(a), full_matrices=False, subset_by_index=(1, 3))
    close(some_u, u[:, 1:3])
    close(some_s, s[1:3])
    close(some_vh, vh[1:3])
    close(linalg.svd(device_array(a), compute_uv=False, subset_by_index=(0, 1)), s[:1])
    v, w = linalg.eigh(device_array(a.T @ a), subset_by_index=(2, 3))
    assert v.shape == (3, 1)
    close(w, s[:1] ** 2)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("left", [True, False])
def test_reflections_are_multiplied_without_being_formed(left, dtype):
    a, c = random(2, 4, 3, dtype=dtype), random(2, 4, 5, dtype=dtype)
    packed, taus = linalg.geqrf(device_array(a))
    q = np.asarray(linalg.qr(device_array(a))[0])
    for transpose in (True, False):
        turn = adjoint(q) if transpose else q
        factor = c if left else adjoint(c)
        got = linalg.ormqr(packed, taus, device_array(factor), left=left, transpose=transpose)
        close(got, turn @ factor if left else factor @ turn)


# -------------------------------------------------------------------------------------------- derivatives
class Invariant(NamedTuple):
    """A function of a factorization that its signs and phases do not change, to be checked as a row is."""

    name: str
    call: Any
    sizes: tuple
    apart: dict = {}
    loose: float = 1.0
    settle_traced: Any = None

    def function(self, dtype):
        return lambda x: (self.call(x),)

    def draw(self, dtype, seed):
        return [some(*self.sizes)(np.random.default_rng(seed), dtype)]


def weighted(x, weights):
    """``x diag(weights)`` for real weights."""
    wide = lax.broadcast_in_dim(weights, typeof(x).shape, (1,))
    return lax.mul(x, lax.convert_element_type(wide, typeof(x).dtype))


def sine_of_singular_values(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return matrices.product(weighted(u, lax.sin(s)), vh)


def spread_of_left_vectors(x):
    u, s, _ = linalg.svd(x, full_matrices=False)
    return matrices.product(weighted(u, lax.log(s)), matrices.adjoint(u))


def exponential(x):
    v, w = linalg.eigh(x)
    return matrices.product(weighted(v, lax.exp(lax.mul(w, 0.3))), matrices.adjoint(v))


def larger_half(x):
    """The projector on the eigenvectors of the two largest eigenvalues."""
    v, _ = linalg.eigh(x, subset_by_index=(1, 3))
    return matrices.product(v, matrices.adjoint(v))


INVARIANTS = [
    Invariant("svd tall", sine_of_singular_values, (4, 2)),
    Invariant("svd wide", sine_of_singular_values, (2, 4)),
    Invariant("svd left", spread_of_left_vectors, (3, 2)),
    Invariant("eigh", exponential, (3, 3)),
    Invariant("eigh part", larger_half, (3, 3)),
]


@pytest.mark.forbidden("explicit_x64_dtypes")
@pytest.mark.parametrize("row", INVARIANTS, ids=lambda row: row.name)
def test_derivatives_of_what_signs_and_phases_do_not_change(row):
    second = ["second_order"] if row.name in ("eigh", "svd tall") else []
    checks.check_laws(row, ["forward", "reverse", *second], dtype="complex128")


def pushed(fn, x, t):
    return on_host(driver.jvp(fn, (device_array(np.array(x)),), (device_array(np.array(t)),))[1])


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_derivatives_of_values_where_they_are_equal():
    eye, t = np.eye(2), np.array([[1.0, 2.0], [2.0, 4.0]])
    dv, dw = pushed(linalg.eigh, eye, t)
    assert dw.tolist() == [1, 4] and not np.isfinite(dv).any()
    assert pushed(lambda x: (linalg.svd(x, compute_uv=False),), eye, t)[0].tolist() == [1, 4]
    values = {"compute_left_eigenvectors": False, "compute_right_eigenvectors": False}
    assert pushed(lambda x: tuple(linalg.eig(x, **values)), eye, t)[0].tolist() == [1, 4]


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_derivatives_at_singular_values_of_zero_are_those_of_the_others():
    """The vector of a value of 0 is any of several, so its derivative is no number (not 0)."""
    x = np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    du, ds, dvh = pushed(lambda a: linalg.svd(a, full_matrices=False), x, np.ones((3, 2)))
    assert np.isfinite(du[:, 0]).all() and np.isfinite(ds).all() and np.isfinite(dvh).all()
    assert not np.isfinite(du[:, 1]).all()


# ------------------------------------------------------------------------------------------------- batches
def calls_in(fn, *sizes):
    """How many native functions a mapped function calls."""
    mapped = driver.vmap(lambda x: tuple(fn(x)), (0,))
    closed = stage(mapped, [ShapedArray(sizes, np.dtype("float32"))], "mapped")
    return lower_program(closed.jaxpr, name="mapped").module.text.count("stablehlo.custom_call")


def test_a_batch_is_one_call():
    assert calls_in(linalg.svd, 5, 3, 2) == 1
    assert calls_in(linalg.eigh, 5, 2, 3, 3) == 1
    assert calls_in(linalg.eig, 5, 3, 3) == 1
    assert calls_in(linalg.qr, 5, 4, 3) == 2


@pytest.mark.needs("numpy")
# --------------------------------------------------------------------------------------- failures, messages
def test_half_precision_is_computed_in_single():
    x = lax.convert_element_type(floats(1.0, 2.0, 3.0, 4.0).reshape(2, 2), np.float16)
    assert [y.dtype for y in linalg.svd(x)] == [np.float16] * 3
    assert [y.dtype for y in linalg.eig(x)] == [np.complex64] * 3


@pytest.mark.forbidden("debug_nans")
@pytest.mark.parametrize("name", ["svd", "eigh", "eig"])
def test_one_bad_matrix_of_a_batch(name):
    x = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    for out in getattr(linalg, name)(device_array(x)):
        assert np.isfinite(np.asarray(out)[0]).all() and np.isnan(np.asarray(out)[1]).all()


WIDE = lax.full((2, 3), 1.0)
TALL = lax.full((3, 2), 1.0)
EYE = lax.full((2, 2), 1.0)


def derivative(fn, x):
    return lambda: driver.jvp(lambda y: tuple(fn(y)), (x,), (x,))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: linalg.qr(floats(1, 2)), ValueError, r"qr takes matrices, .* got f32\[2\]"),
        (lambda: linalg.svd(lax.full((2, 2), 1)), TypeError, "svd takes floating or complex arrays"),
        (lambda: linalg.eigh(WIDE), ValueError, r"eigh takes square matrices, .* got f32\[2,3\]"),
        (lambda: linalg.eig(WIDE), ValueError, "eig takes square matrices"),
        (lambda: linalg.svd(EYE, subset_by_index=(0, 1)), ValueError, "needs full_matrices=False or"),
        (lambda: linalg.eigh(EYE, subset_by_index=(1, 3)), ValueError, r"from 0 to 2, got \(1, 3\)"),
        (lambda: linalg.svd(EYE, algorithm="fast"), ValueError, "one of SvdAlgorithm.DEFAULT, .* got 'fast'"),
        (lambda: linalg.svd(EYE, algorithm="Jacobi"), NotImplementedError, "not offered on the CPU; use DEF"),
        (lambda: linalg.eigh(EYE, implementation="qdwh"), NotImplementedError, "use QR"),
        (lambda: linalg.eig(EYE, implementation="magma"), NotImplementedError, "use EigImpl"),
        (lambda: linalg.householder_product(WIDE, floats(1)), ValueError, "m >= n >= k"),
        (lambda: linalg.ormqr(TALL, floats(1), WIDE), ValueError, "ormqr with left=True takes"),
        (derivative(linalg.svd, TALL), NotImplementedError, r"svd of f32\[3,2\] with full"),
        (derivative(linalg.qr, TALL), NotImplementedError, "use full_matrices=False"),
        (
            derivative(functools.partial(linalg.eig, enable_eigvec_derivs=False), EYE),
            NotImplementedError, "enable_eigvec_derivs=False",
        ),
        (derivative(linalg.geqrf, EYE), MissingRule, "differentiate lax.linalg.qr"),
    ],
)  # fmt: skip
@pytest.mark.narrow
def test_messages(call, error, words):
    with pytest.raises(error, match=words):
        call()
