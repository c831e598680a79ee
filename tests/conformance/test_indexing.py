"""Indexing under the transformations that users see."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import errors, lax

pytestmark = [pytest.mark.optimized, pytest.mark.needs("grad", "jvp", "vmap", "jit")]


def numbers(*shape):
    return rb.device_put(np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape))


def total(x):
    return lax.reduce_sum(x, tuple(range(x.ndim)))


@pytest.mark.parametrize("compiled", [False, True])
def test_the_gradient_of_an_embedding_adds_up_uses(compiled):
    table, tokens = numbers(4, 2), np.array([[0, 2, 2], [2, 3, 0]], np.int32)

    def loss(table, tokens):
        return total(table[tokens] * 2.0)

    gradient = rb.jit(rb.grad(loss)) if compiled else rb.grad(loss)
    want = np.zeros((4, 2), np.float32)
    np.add.at(want, tokens, 2.0)
    np.testing.assert_array_equal(gradient(table, tokens), want)


INDEXED = [
    lambda x, i: x[i],
    lambda x, i: x[i, ::-1],
    lambda x, i: x[:, i],
    lambda x, i: x.at[i].get(mode="fill", fill_value=0),
    lambda x, i: x.at[i].set(7.0) * x,
    lambda x, i: x.at[i, 1:].add(x[0, 1:]),
    lambda x, i: x.at[:, i].multiply(2.0),
    lambda x, i: x.at[x > 5].set(0.0) * x[0],
]


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("fn", INDEXED)
def test_mapping_differentiating_and_compiling_commute(fn, shape):
    xs = numbers(3, 3, 3)
    places = np.random.default_rng(0).integers(-3, 3, (3, *shape)).astype(np.int32)

    def gradient(x, i):
        return rb.grad(lambda x: total(lax.sin(fn(x, i))))(x)

    one_by_one = [gradient(x, i) for x, i in zip(xs, places, strict=True)]
    together = rb.jit(rb.vmap(gradient))(xs, places)
    np.testing.assert_allclose(together, np.stack(one_by_one), rtol=1e-5, atol=1e-5)
    shared = rb.vmap(gradient, in_axes=(None, 0))(xs[0], places)
    np.testing.assert_allclose(shared, np.stack([gradient(xs[0], i) for i in places]), rtol=1e-5, atol=1e-5)


def test_masks_have_no_shape_under_jit():
    with pytest.raises(errors.NonConcreteBooleanIndexError, match="jit"):
        rb.jit(lambda x: x[x > 2])(numbers(4))


def test_grad_sees_values():
    assert rb.grad(lambda x: total(x[x > 2]))(numbers(4)).tolist() == [0, 0, 1, 1]
