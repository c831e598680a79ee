"""Cross entropy by blocks of classes against all logits at once, its derivatives and its memory."""

import numpy as np
import pytest
import rabbet as rb
from rabbet_kernels.cross_entropy import plain, softmax_cross_entropy

pytestmark = pytest.mark.needs("jit", "vmap", "grad", "nn", "numpy")
RNG = np.random.default_rng(0)
HIDDEN, WEIGHTS = [RNG.normal(size=s).astype("float32") for s in ((6, 5), (5, 23))]
LABELS = np.array([0, 7, 8, 22, 21, 3])


@pytest.mark.parametrize("block", [8, 23, 100])
def test_losses(block):
    logits = HIDDEN.astype("float64") @ WEIGHTS
    wanted = np.log(np.exp(logits).sum(1)) - logits[np.arange(6), LABELS]
    found = softmax_cross_entropy(HIDDEN, WEIGHTS, LABELS, block=block)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_derivatives_in_both_modes():
    factor = RNG.normal(size=6).astype("float32")
    by_blocks = lambda h, w: (softmax_cross_entropy(h, w, LABELS, block=8) * factor).sum()
    at_once = lambda h, w: (plain(h, w, LABELS) * factor).sum()
    for mode in (rb.grad, rb.jacfwd):
        for a, b in zip(
            mode(by_blocks, (0, 1))(HIDDEN, WEIGHTS), mode(at_once, (0, 1))(HIDDEN, WEIGHTS), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_large_logits():
    found = softmax_cross_entropy(1000 * HIDDEN, WEIGHTS, LABELS, block=8)
    assert np.isfinite(found).all()


@pytest.mark.forbidden("disable_jit")
def test_memory_without_the_logits():
    types = [rb.ShapeDtypeStruct(s, d) for s, d in (((512, 32), "f4"), ((32, 8192), "f4"), ((512,), "i4"))]

    def temporary(f):
        loss = lambda h, w, y: f(h, w, y).sum()
        return (
            rb.jit(rb.grad(loss, (0, 1))).trace(*types).lower().compile().memory_analysis().temp_size_in_bytes
        )

    all_logits = 4 * 512 * 8192
    assert temporary(plain) >= all_logits
    assert temporary(lambda h, w, y: softmax_cross_entropy(h, w, y, block=512)) < all_logits / 3


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="to fix"):
        softmax_cross_entropy(HIDDEN, WEIGHTS, LABELS[:2])
    with pytest.raises(ValueError, match="integers"):
        softmax_cross_entropy(HIDDEN, WEIGHTS, LABELS * 1.0)
