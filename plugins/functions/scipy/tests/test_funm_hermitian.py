"""Functions of Hermitian matrices, and their derivatives where eigenvalues are equal or nearly equal."""

import mpmath
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.scipy import linalg

pytestmark = pytest.mark.needs("grad", "jvp", "vmap")

RANDOM = np.random.default_rng(0)
TURN = np.linalg.qr(RANDOM.normal(size=(3, 3)))[0]
COMPLEX = np.linalg.qr(RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3)))[0]
MATRICES = {
    "diagonal": np.diag([4.0, 1.0, 1.0]),
    "all equal": np.eye(3),
    "equal but for rounding": TURN @ np.diag([4.0, 1.0, 1.0]) @ TURN.T,
    "nearly equal": TURN @ np.diag([4.0, 1.0, 1.0 + 1e-6]) @ TURN.T,
    "complex": COMPLEX @ np.diag([4.0, 1.0, 1.0]) @ COMPLEX.conj().T,
    "apart": TURN @ np.diag([4.0, 1.0, 2.5]) @ TURN.T,
}


def inverse_root(w):
    return 1 / rnp.sqrt(w)


def derivatives(loss):
    """First and second derivatives in all orders of modes."""

    @rb.jit
    def all_of_them(t):
        forward = lambda t: rb.jvp(loss, (t,), (rnp.ones_like(t),))[1]
        reverse = rb.grad(loss)
        return forward(t), reverse(t), rb.grad(forward)(t), rb.grad(reverse)(t), *rb.jvp(
            lambda t: (forward(t), reverse(t)), (t,), (rnp.ones_like(t),))[1]  # fmt: skip

    return all_of_them


@pytest.mark.parametrize(
    ("name", "general"),
    [*[(name, False) for name in MATRICES], ("equal but for rounding", True), ("apart", True)],
)
def test_derivatives_of_first_and_second_order(name, general):
    a = MATRICES[name]
    weights, change = RANDOM.normal(size=(2, 3, 3))
    change = change + change.T + (1j * (change - change.T) if name == "complex" else 0)

    def loss(t):
        out = (linalg.funm if general else linalg.funm_hermitian)(a + t * change, inverse_root)
        return rnp.sum(rnp.real(out) * weights)

    with rb.config.override(enable_x64=True):
        first, *rest = map(float, derivatives(loss)(0.0))
        ends = [float(loss(t)) for t in (-1e-4, 0.0, 1e-4)]
    assert first == pytest.approx((ends[2] - ends[0]) / 2e-4, rel=1e-5)
    assert rest[0] == pytest.approx(first, rel=1e-9)
    for second in rest[1:]:
        assert second == pytest.approx((ends[2] - 2 * ends[1] + ends[0]) / 1e-8, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("dtype", "near"), [("float32", 3e-5), ("float64", 1e-11)])
def test_differences_are_right_at_every_distance(dtype, near):
    """An element of the derivative at a diagonal matrix is a divided difference, known to 50 digits. The
    numbers are those of the dtype, so nothing but the differences is rounded.
    """
    with rb.config.override(enable_x64=True), mpmath.workdps(50):
        for gap in (0.0, *(2.0**-e for e in range(4, 50, 3 if dtype == "float64" else 5))):
            x = np.asarray(0.75, dtype)
            y = np.asarray(0.75 + gap, dtype)
            a = rnp.diag(rnp.asarray([x, y]))
            e = rnp.asarray([[0, 1], [1, 0]], dtype)
            if x == y:
                wanted = mpmath.diff(mpmath.exp, float(x))
            else:
                x, y = mpmath.mpf(float(x)), mpmath.mpf(float(y))
                wanted = (mpmath.exp(x) - mpmath.exp(y)) / (x - y)
            found = rb.jvp(lambda a: linalg.funm_hermitian(a, rnp.exp), (a,), (e,))[1]
            assert found.dtype == dtype
            assert float(found[0, 1]) == pytest.approx(float(wanted), rel=near)


def test_the_inverse_root_of_the_issue():
    """One sixth, at equal eigenvalues elsewhere, in single precision."""
    a = rnp.diag(rnp.array([4.0, 1.0, 1.0]))
    found = rb.grad(lambda a: linalg.funm_hermitian(a, inverse_root)[0, 1])(a)
    np.testing.assert_allclose(found, np.array([[0, -1, 0], [-1, 0, 0], [0, 0, 0]]) / 12, atol=1e-7)


@pytest.mark.parametrize("name", ["diagonal", "equal but for rounding", "complex"])
def test_a_projector_is_a_function_with_a_step(name):
    """On one eigenvalue, or on both equal ones."""
    a = MATRICES[name]
    change = RANDOM.normal(size=(3, 3))
    change = change + change.T
    with rb.config.override(enable_x64=True):
        for f in (lambda w: rnp.where(w > 2, 1.0, 0.0), lambda w: rnp.where(w > 2, 0.0, 1.0)):
            push = lambda t, f=f: linalg.funm_hermitian(a + t * change, f)
            found = rb.jvp(push, (0.0,), (1.0,))[1]
            np.testing.assert_allclose(found, (push(1e-5) - push(-1e-5)) / 2e-5, atol=1e-7)


def test_a_step_between_eigenvalues_that_are_near_is_no_mean_of_the_derivative():
    with rb.config.override(enable_x64=True):
        a = rnp.diag(rnp.array([1.0, 1.001]))
        f = lambda w: rnp.where(w > 1.0005, 1.0, 0.0)
        found = rb.grad(lambda a: linalg.funm_hermitian(a, f)[0, 1])(a)
    np.testing.assert_allclose(found[0, 1], 500, rtol=1e-9)


def test_stacks_and_mapped_matrices_and_arrays_that_func_closes_over():
    with rb.config.override(enable_x64=True):
        a = np.stack([MATRICES["diagonal"], MATRICES["apart"]])
        powers = rnp.array([0.5, -1.5])

        def loss(a, p, n):
            return rnp.sum(linalg.funm_hermitian(a, lambda w: w**p * n)[..., 0, 1])

        both = rb.vmap(rb.grad(loss, (0, 1)), (0, 0, None))(a, powers, 2)
        for i in range(2):
            alone = rb.jit(rb.grad(loss, (0, 1)))(a[i], powers[i], 2)
            np.testing.assert_allclose(both[0][i], alone[0], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(both[1][i], alone[1], rtol=1e-10, atol=1e-12)
            ends = [loss(a[i], powers[i] + t, 2) for t in (1e-5, -1e-5)]
            np.testing.assert_allclose(alone[1], (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-8)
        stacked = rb.grad(loss)(a, 0.5, 2)
        np.testing.assert_allclose(stacked[0], rb.grad(loss)(a[0], 0.5, 2), rtol=1e-10, atol=1e-12)
        mixed = rb.grad(lambda a: rb.grad(loss, 1)(a, 0.5, 2))(a[1])
        ends = [rb.grad(loss)(a[1], 0.5 + t, 2) for t in (1e-5, -1e-5)]
        np.testing.assert_allclose(mixed, (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-8)


def test_functions_of_singular_values():
    """By the polar decomposition, as the page says: both of its factors have derivatives."""

    def log_of(a):
        u, p = linalg.polar(a)
        return u @ linalg.funm_hermitian(p, rnp.log1p)

    with rb.config.override(enable_x64=True):
        a, change = TURN[:, :2], RANDOM.normal(size=(3, 2))
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        np.testing.assert_allclose(log_of(a), u @ np.diag(np.log1p(s)) @ vh, atol=1e-12)
        push = lambda t: log_of(a + t * change)
        found = rb.jvp(push, (0.0,), (1.0,))[1]
        np.testing.assert_allclose(found, (push(1e-5) - push(-1e-5)) / 2e-5, atol=1e-8)
        back = rb.grad(lambda t: push(t)[0, 1])(0.0)
        np.testing.assert_allclose(back, found[0, 1], rtol=1e-9)


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_complex_values_of_real_matrices():
    a = rnp.diag(rnp.array([1.0, 1.0]))
    out = linalg.funm_hermitian(a, lambda w: rnp.exp(1j * w))
    assert out.dtype == "complex64"
    found = rb.grad(lambda a: linalg.funm_hermitian(a, lambda w: rnp.exp(1j * w))[0, 1].imag)(a)
    np.testing.assert_allclose(found[0, 1], np.cos(1) / 2, rtol=1e-6)


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_too_few_eigenvectors_give_nan_rather_than_a_wrong_number():
    gradient = rb.grad(lambda a: linalg.funm(a, rnp.exp).real.sum())(rnp.array([[1.0, 1.0], [0.0, 1.0]]))
    assert np.isnan(gradient).all()


def test_what_func_must_return():
    with pytest.raises(ValueError, match="funm_hermitian: func must keep the shape of its argument"):
        linalg.funm_hermitian(rnp.eye(2), lambda w: rnp.stack([w, w]))
    with pytest.raises(ValueError, match="funm_hermitian: A must be square"):
        linalg.funm_hermitian(rnp.ones((2, 3)), rnp.exp)
    assert linalg.funm_hermitian(rnp.zeros((4, 0, 0)), rnp.exp).shape == (4, 0, 0)


@pytest.mark.parametrize("setting", [{"numpy_rank_promotion": "raise"}, {"numpy_dtype_promotion": "strict"}])
def test_settings_for_users_programs(setting):
    a = rnp.asarray(COMPLEX @ COMPLEX.conj().T, "complex64")
    with rb.config.override(**setting):
        found = rb.grad(lambda a: linalg.funm_hermitian(a, rnp.exp).real[0, 0])(a)
    np.testing.assert_allclose(found[0, 0], np.e, rtol=1e-5)
