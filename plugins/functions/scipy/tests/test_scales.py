"""Functions of matrices near the ends of the range: as near to the value as of matrices of ordinary size."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "lax.linalg", "scipy", "grad")
scipy_linalg = pytest.importorskip("scipy.linalg")

A = np.array([[2.0, 1], [1, 3]])
E = np.eye(2)


def roots(s):
    return scipy_linalg.sqrtm(A) * np.sqrt(s)


# What is computed of ``s * A``, and what it is.
FUNCTIONS = {
    "inv": (rnp.linalg.inv, lambda s: np.linalg.inv(A) / s),
    "pinv": (rnp.linalg.pinv, lambda s: np.linalg.inv(A) / s),
    "sqrtm": (lambda a: rb.scipy.linalg.sqrtm(a), roots),
    "fractional_matrix_power": (lambda a: rb.scipy.linalg.fractional_matrix_power(a, 0.5), roots),
    "logm": (lambda a: rb.scipy.linalg.logm(a), lambda s: scipy_linalg.logm(A) + np.log(s) * E),
    "polar, u": (lambda a: rb.scipy.linalg.polar(a)[0], lambda s: E),
    "polar, p": (lambda a: rb.scipy.linalg.polar(a)[1], lambda s: A * s),
    "polar, left": (lambda a: rb.scipy.linalg.polar(a, side="left")[1], lambda s: A * s),
    "eigvalsh": (rnp.linalg.eigvalsh, lambda s: np.linalg.eigvalsh(A) * s),
    "eigvals": (lambda a: rnp.sort(rnp.linalg.eigvals(a).real), lambda s: np.linalg.eigvalsh(A) * s),
    "svd": (lambda a: rnp.linalg.svd(a)[1], lambda s: np.linalg.svd(A)[1] * s),
    "qr": (lambda a: abs(rnp.linalg.qr(a)[1]), lambda s: abs(np.linalg.qr(A)[1]) * s),
    "cholesky": (rnp.linalg.cholesky, lambda s: np.linalg.cholesky(A) * np.sqrt(s)),
    "schur": (lambda a: rnp.sort(rnp.diag(rb.scipy.linalg.schur(a)[0])), lambda s: np.linalg.eigvalsh(A) * s),
    "slogdet": (lambda a: rnp.linalg.slogdet(a)[1], lambda s: np.log(5) + 2 * np.log(s)),
    "solve": (lambda a: rnp.linalg.solve(a, a[0]), lambda s: E[0]),
    "lstsq": (lambda a: rnp.linalg.lstsq(a, a[0])[0], lambda s: E[0]),
    "matrix_rank": (rnp.linalg.matrix_rank, lambda s: 2),
    "cond": (rnp.linalg.cond, lambda s: np.linalg.cond(A)),
}


@pytest.mark.parametrize("scale", [1e20, 1e-30])
def test_near_the_ends_of_the_range(scale):
    a = rnp.asarray((A * scale).astype("float32"))
    compiled = rb.jit(lambda a: {name: f(a) for name, (f, _) in FUNCTIONS.items()})(a)
    for name, (_, wanted) in FUNCTIONS.items():
        right = np.asarray(wanted(scale))
        np.testing.assert_allclose(
            np.asarray(compiled[name]).real, right, rtol=3e-5, atol=3e-6 * np.abs(right).max(), err_msg=name
        )


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("scale", [1e20, 1e-30, 1e200, 1e-200])
def test_eagerly_and_in_double_precision(name, scale):
    f, wanted = FUNCTIONS[name]
    dtype = "float32" if 1e-100 < scale < 1e100 else "float64"
    right = np.asarray(wanted(scale))
    bound = {"float32": 3e-5, "float64": 1e-9}[dtype]
    out = np.asarray(f(rnp.asarray(A * scale, dtype))).real
    np.testing.assert_allclose(out, right, rtol=bound, atol=bound / 10 * np.abs(right).max())


SIZES = {
    "norm": rnp.linalg.norm, "std": rnp.std, "nanstd": rnp.nanstd, "var": rnp.var,
    "norm, 3": lambda x: rnp.linalg.norm(x, ord=3), "norm, 1.5": lambda x: rnp.linalg.norm(x, ord=1.5),
    "norm, axis": lambda x: rnp.linalg.norm(x[None], axis=1)[0],
    "norm, Frobenius": lambda x: rnp.linalg.norm(x[None]), "sem": lambda x: rb.scipy.stats.sem(x),
    "vector_norm": rnp.linalg.vector_norm, "matrix_norm": lambda x: rnp.linalg.matrix_norm(x[None]),
    "hypot": lambda x: rnp.hypot(x[0], x[1]), "abs": lambda x: rnp.abs(lax_complex(x)).sum(),
    "sem, omit": lambda x: rb.scipy.stats.sem(x, nan_policy="omit"),
}  # fmt: skip


def lax_complex(x):
    return rb.lax.complex(x, x)


def test_derivatives_of_sizes_at_zero_are_subgradients():
    x = rnp.zeros(3)
    reverse = rb.jit(lambda x: {name: rb.grad(f)(x) for name, f in SIZES.items()})(x)
    forward = rb.jit(lambda x: {name: rb.jvp(f, (x,), (x + 1,))[1] for name, f in SIZES.items()})(x)
    for name in SIZES:
        assert np.array_equal(reverse[name], np.zeros(3)), name
        assert np.array_equal(forward[name], 0), name


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_the_exponential_beside_an_entry_that_overflows():
    """The others are ``(exp(90) - 1) / 90`` and 1; those of the derivative follow from it."""
    a, far, apart = (rnp.array([[x, 1.0], [0.0, y]]) for x, y in ((90.0, 0.0), (180.0, 0.0), (80.0, -80.0)))
    small = rnp.array([[1.0, 2.0], [3.0, 4.0]])
    compiled = rb.jit(lambda a: rb.scipy.linalg.expm_frechet(a, rnp.ones_like(a)))
    values, changes = compiled(rnp.stack([a, far, small, apart]))
    wide = (np.exp(90.0) - 1) / 90
    np.testing.assert_allclose(values[0], [[np.inf, wide], [0, 1]], rtol=1e-4)
    np.testing.assert_allclose(changes[0], [[np.inf, 2.7267393e37], [wide, 1.5066708e35]], rtol=1e-4)
    # What has vanished beside an entry as large is no number, and what is 0 for certain stays.
    np.testing.assert_array_equal(values[1], [[np.inf, np.inf], [0, np.nan]])
    np.testing.assert_allclose(values[2], scipy_linalg.expm(np.asarray(small)), rtol=1e-5)
    np.testing.assert_allclose(np.diag(values[3]), np.exp([80.0, -80.0]), rtol=1e-4)
