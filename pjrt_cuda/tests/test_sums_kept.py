"""Sums of cotangents that a product reads, and others."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import check, evaluate, stage
from rabbet.extend.primitive import keep_apart
from rabbet_pjrt_cuda.sums_kept import kept_sums

pytestmark = pytest.mark.needs("cpu", "numpy")
X = np.random.default_rng(0).normal(size=(32, 32)).astype("float32")


def product(x, y):
    return lax.dot_general(x, y, (((1,), (0,)), ((), ())))


def product_and_more(x, y):
    total = keep_apart(x + y)
    return [product(lax.transpose(total, (1, 0)), y), total * 2]


def product_and_result(x, y):
    total = keep_apart(x + y)
    return [product(total, y), total]


def behind_another_shape(x, y):
    total = lax.reshape(keep_apart(x + y), (32, 32, 1))
    flat = lax.reshape(total, (32, 32))
    return [product(flat, y), lax.exp(flat)]


def product_alone(x, y):
    return [product(keep_apart(x + y), y)]


def no_product(x, y):
    total = keep_apart(x + y)
    return [lax.exp(total), total * 2]


CASES = [
    (product_and_more, 1), (product_and_result, 1), (behind_another_shape, 1), (product_alone, 0),
    (no_product, 0),
]  # fmt: skip


@pytest.mark.parametrize("f, barriers", CASES, ids=[f.__name__ for f, _ in CASES])
def test_which_sums_are_kept(f, barriers):
    closed = stage(f, [rb.typeof(X), rb.typeof(X)])
    found = kept_sums(closed.jaxpr)
    check(found)
    names = [eqn.op.primitive.name for eqn in found.equations]
    assert names.count("optimization_barrier") == barriers
    assert names.count("keep_apart") == 1 - barriers and (barriers or found is closed.jaxpr)
    for got, wanted in zip(evaluate(found, [X, X]), f(X, X), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.needs("grad", "jit")
def test_a_residual_stream_on_a_gpu():
    """The sum of two cotangents, which the product before reads, and the sum before it."""
    f = lambda w, x: (h := x + product(x, w)) + product(lax.tanh(product(h, w)), w)
    slopes = rb.jit(rb.grad(lambda w, x: f(w, x).sum(), (0, 1)))
    text = slopes.trace(X, X).lower(platforms=("cuda",)).as_text()
    assert "optimization_barrier" in text
