"""Matrices with a structure or a name, against SciPy's."""

import numpy as np
import pytest
import rabbet.numpy as rnp
import scipy.linalg
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy import linalg

random = np.random.default_rng(6)
V, W = random.normal(size=5), random.normal(size=3)
STRUCTURED = [
    ("toeplitz", V), ("toeplitz", V + 1j), ("toeplitz", V, W), ("hankel", V), ("hankel", V, W),
    ("circulant", V),
    ("companion", V), ("fiedler", V), ("fiedler_companion", V), ("fiedler_companion", V[:4]),
    ("fiedler_companion", V[:3]), ("fiedler_companion", V[:2]), ("leslie", V[:4], W),
    ("block_diag", np.outer(V, W), V, np.array(2.0)),
    *[("convolution_matrix", W, n, mode) for n in (1, 2, 4) for mode in ("full", "same", "valid")],
]  # fmt: skip


@pytest.mark.parametrize("case", STRUCTURED, ids=lambda c: f"{c[0]}-{np.shape(c[-1])}")
def test_structured(case):
    name, *args = case
    close(getattr(linalg, name)(*map(ours, args)), getattr(scipy.linalg, name)(*args))


@pytest.mark.narrow
def test_batches_and_derivatives_of_structured():
    x = random.normal(size=(2, 4))
    for name in ("toeplitz", "hankel", "circulant", "companion", "fiedler", "fiedler_companion"):
        function = getattr(linalg, name)
        loop = np.stack([np.asarray(function(ours(row))) for row in x])
        np.testing.assert_array_equal(function(ours(x)), loop)
    check_gradient(
        lambda c, r: (linalg.toeplitz(c, r), linalg.companion(c), linalg.leslie(c, r)), x[0], x[0, 1:]
    )
    check_batches(lambda a: linalg.block_diag(a, a), x)
    assert linalg.toeplitz(np.arange(3)).dtype == "int32"
    assert linalg.toeplitz(rnp.zeros((2, 0)), rnp.zeros(3)).shape == (2, 0, 3)
    assert linalg.block_diag().shape == (1, 0)


def test_named():
    for n in (1, 2, 3, 4, 6):
        close(linalg.hilbert(n), scipy.linalg.hilbert(n), rtol=1e-7)
        close(linalg.invhilbert(n), scipy.linalg.invhilbert(n), rtol=1e-7)
        close(linalg.helmert(n, full=True), scipy.linalg.helmert(n, full=True), rtol=1e-6, atol=1e-7)
        close(linalg.helmert(n), scipy.linalg.helmert(n), rtol=1e-6, atol=1e-7)
        for scale in (None, "sqrtn", "n"):
            close(linalg.dft(n, scale), scipy.linalg.dft(n, scale), rtol=1e-6, atol=1e-7)
        for kind in ("symmetric", "lower", "upper"):
            close(linalg.pascal(n, kind), scipy.linalg.pascal(n, kind).astype(float))
            close(linalg.invpascal(n, kind), scipy.linalg.invpascal(n, kind).astype(float))
    close(linalg.hadamard(8), scipy.linalg.hadamard(8))
    assert linalg.hadamard(2, "float32").dtype == "float32"
    assert linalg.dft(3, dtype="complex128").dtype == "complex128"
    assert linalg.hilbert(0).shape == (0, 0)
    # The largest element of an exact matrix of whole numbers is rounded once.
    assert float(linalg.invhilbert(10).max()) == np.float32(scipy.linalg.invhilbert(10, exact=True).max())


def test_messages():
    for wrong, words in (
        (lambda: linalg.hankel(1.0), "c must be of shape"),
        (lambda: linalg.companion(V[:1]), "at least two coefficients"),
        (lambda: linalg.leslie(V, V), "n - 1"),
        (lambda: linalg.convolution_matrix(V, 0), "must be at least 1"),
        (lambda: linalg.convolution_matrix(V, 2, "x"), "mode must be"),
        (lambda: linalg.block_diag(np.ones((1, 1, 1))), "at most two dimensions"),
        (lambda: linalg.hadamard(3), "a power of 2"),
        (lambda: linalg.helmert(0), "at least 1"),
        (lambda: linalg.dft(2, "x"), "scale must be"),
        (lambda: linalg.dft(2, dtype="float32"), "complex dtype"),
        (lambda: linalg.pascal(2, "x"), "kind must be"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
    with pytest.raises(TypeError, match="toeplitz takes arrays"):
        linalg.toeplitz([1, 2])
