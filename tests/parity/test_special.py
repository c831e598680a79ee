"""Special functions and the backends' generators under jax and under rabbet, in one process."""

import jax.lax
import numpy as np
import pytest
from rabbet import lax

A = np.array([0.3, 1.5, 4.0, 30.0, 200.0], np.float32)
X = np.array([0.2, 2.5, 3.0, 25.0, 210.0], np.float32)
KEY = np.arange(4, dtype=np.uint32)

UNARY = ("lgamma", "digamma", "bessel_i0e", "bessel_i1e")
BINARY = ("igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "nextafter")
FUNCTIONS = dict.fromkeys(UNARY, (A,)) | dict.fromkeys(BINARY, (A, X)) | {
    "zeta": (1.0 + A[:3], X[:3]),
    "polygamma": (np.float32([1, 2, 3]), X[:3]),
    "betainc": (A, X, np.linspace(0.1, 0.8, 5, dtype=np.float32)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name):
    args = FUNCTIONS[name]
    ours, theirs = getattr(lax, name)(*args), getattr(jax.lax, name)(*args)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=2e-3, atol=2e-6)


@pytest.mark.parametrize("algorithm", ["RNG_DEFAULT", "RNG_THREE_FRY", "RNG_PHILOX"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_bits(algorithm, dtype):
    ours = lax.rng_bit_generator(KEY, (5,), dtype, lax.RandomAlgorithm[algorithm])
    theirs = jax.lax.rng_bit_generator(KEY, (5,), dtype, jax.lax.RandomAlgorithm[algorithm])
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def test_index_take():
    src, indices = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4), (np.int32([0, -1, 5]),)
    theirs = jax.lax.index_take(jax.numpy.asarray(src), tuple(jax.numpy.asarray(i) for i in indices), (1,))
    np.testing.assert_array_equal(np.asarray(lax.index_take(src, indices, (1,))), np.asarray(theirs))
