"""A law: no example of a batch changes another. Each function is given good examples alone, and beside
examples of NaN, infinity, zeros and numbers near the ends of the range.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy import linalg, special, stats

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "lax.linalg", "scipy")

RNG = np.random.default_rng(3)
BAD = (np.nan, np.inf, -np.inf, 0.0, 1e30, 1e-30, -1e20)


def symmetric(a):
    return a @ rnp.swapaxes(a, -1, -2) + 3 * rnp.eye(a.shape[-1], dtype=a.dtype)


MATRICES = {
    "cholesky": lambda a: rnp.linalg.cholesky(symmetric(a)),
    "det": rnp.linalg.det,
    "eig": lambda a: rnp.abs(rnp.linalg.eigvals(a)).sum(-1),
    "eigh": lambda a: rnp.linalg.eigh(symmetric(a)),
    "expm": linalg.expm,
    "expm_frechet": lambda a: linalg.expm_frechet(a, a * 0 + 1),
    "inv": rnp.linalg.inv,
    "lu": linalg.lu,
    "lu_solve": lambda a: linalg.lu_solve(linalg.lu_factor(a), rnp.ones(a.shape[-1])),
    "matrix_power": lambda a: rnp.linalg.matrix_power(a, 5),
    "matrix_rank": rnp.linalg.matrix_rank,
    "norms": lambda a: [rnp.linalg.norm(a, k, axis=(-2, -1)) for k in ("fro", "nuc", 2, 1)],
    "pinv": rnp.linalg.pinv,
    "polar": rb.vmap(linalg.polar),
    "qr": rnp.linalg.qr,
    "schur": lambda a: linalg.schur(a),
    "slogdet": rnp.linalg.slogdet,
    "solve": lambda a: rnp.linalg.solve(a, rnp.ones((a.shape[-1], 1))),
    "sqrtm": linalg.sqrtm,
    "svd": lambda a: rnp.linalg.svd(a, compute_uv=False),
    "logm": linalg.logm,
    "fractional_matrix_power": lambda a: linalg.fractional_matrix_power(a, 0.3),
    "funm": lambda a: linalg.funm(a, rnp.exp),
    "funm_hermitian": lambda a: linalg.funm_hermitian(symmetric(a), rnp.exp),
    "lstsq": lambda a: rnp.linalg.lstsq(a, rnp.ones((*a.shape[:-1], 1)))[0],
    "cond": rnp.linalg.cond,
    "hessenberg": linalg.hessenberg,
    "triangular": lambda a: linalg.solve_triangular(a, rnp.ones((*a.shape[:-1], 1))),
}
VECTORS = {
    "argsort": lambda a: rnp.argsort(a, -1),
    "betainc": lambda a: special.betainc(rnp.abs(a) + 0.5, 2.0, 0.3),
    "cumulative": lambda a: [f(a, axis=1) for f in (lax.cumsum, lax.cummax, lax.cumlogsumexp)],
    "fft": lambda a: rnp.fft.fft(a, axis=-1),
    "gammainc": lambda a: special.gammainc(rnp.abs(a) + 0.5, 1.5),
    "gamma functions": lambda a: [lax.lgamma(a), lax.digamma(a), lax.polygamma(1.0, a)],
    "hyp1f1": lambda a: special.hyp1f1(1.5, 2.5, a),
    "logsumexp": lambda a: special.logsumexp(a, axis=-1),
    "median": lambda a: rnp.median(a, -1),
    "quantile": lambda a: rnp.quantile(a, 0.3, axis=-1),
    "softmax": lambda a: rb.nn.softmax(a, axis=-1),
    "std": lambda a: [rnp.std(a, -1), rnp.var(a, -1), rnp.linalg.norm(a, axis=-1)],
    "top_k": lambda a: lax.top_k(a, 2),
    "student": lambda a: stats.t.logpdf(a, 3.0),
    "bessel functions": lambda a: [
        f(1.5, rnp.abs(a) + 0.1) for f in (special.jv, special.yv, special.iv, special.kv)
    ],
    "inverses": lambda a: special.gammaincinv(rnp.abs(a) + 0.5, 0.3),
    "inverses of beta": lambda a: special.betaincinv(rnp.abs(a) + 0.5, 2.0, 0.3),
    "stdtr": lambda a: special.stdtr(rnp.abs(a) + 0.5, a),
    "poch": lambda a: special.poch(rnp.abs(a) + 0.5, 3.0),
    "zeta": lambda a: special.zeta(rnp.abs(a) + 1.5, 0.7),
    "interp": lambda a: rb.vmap(lambda x: rnp.interp(0.5, rnp.arange(4.0), x))(a),
    "sorts": lambda a: [rnp.sort(a, -1), rnp.partition(a, 2, -1), rnp.nanmedian(a, -1)],
    "polynomials": rb.vmap(lambda a: rnp.abs(rnp.roots(a, strip_zeros=False)).sum()),
    "while_loop": rb.vmap(lambda a: lax.while_loop(lambda x: (x[0] > 1) & (x[0] < 9), lambda x: 0.7 * x, a)),
}
DIFFERENTIATED = (
    "det",
    "eigh",
    "expm",
    "inv",
    "slogdet",
    "solve",
    "sqrtm",
    "cholesky",
    "pinv",
    "svd",
    "logm",
    "lstsq",
    "funm_hermitian",
    "polar",
)


ALWAYS = ("expm", "sqrtm", "solve", "gammainc", "std", "while_loop")  # the others run in `exhaustive`


def rows(names):
    return [n if n in ALWAYS else pytest.param(n, marks=pytest.mark.exhaustive) for n in names]


def check(function, good, shape):
    bad = np.stack([np.full(shape, x, good.dtype) for x in BAD])
    mixed = RNG.normal(size=shape).astype(good.dtype)
    mixed.flat[0] = np.nan
    both = np.concatenate([bad[:3], good, bad[3:], mixed[None]])
    place = slice(3, 3 + len(good))
    alone, beside = rb.jit(function)(good), rb.jit(function)(both)
    for a, b in zip(rb.tree.leaves(alone), rb.tree.leaves(beside), strict=True):
        assert np.isfinite(a).all()
        np.testing.assert_allclose(np.asarray(b)[place], a, rtol=2e-5, atol=2e-6 * float(np.abs(a).max()))


@pytest.mark.parametrize("name", rows(MATRICES))
def test_matrices_do_not_change_each_other(name):
    good = (np.eye(3) * [[1], [2], [3]] + RNG.normal(size=(2, 3, 3)) * 0.3).astype("float32")
    check(MATRICES[name], good, (3, 3))


@pytest.mark.parametrize("name", rows(VECTORS))
def test_vectors_do_not_change_each_other(name):
    good = RNG.normal(size=(2, 4)).astype("float32")
    check(VECTORS[name], good, (4,))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives_of_matrices_do_not_change_each_other(name):
    function = MATRICES[name]

    def size(a):
        return sum([rnp.sum(rnp.abs(x) ** 2) for x in rb.tree.leaves(function(a[None]))])

    good = (np.eye(3) * [[1], [2], [3]] + RNG.normal(size=(2, 3, 3)) * 0.3).astype("float32")
    check(rb.vmap(rb.grad(size)), good, (3, 3))
