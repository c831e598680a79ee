"""Windows and convolutions under the installed transformations, where core's own tests cannot go: through
loops, compiled functions and models.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

pytestmark = [pytest.mark.optimized, pytest.mark.needs("jit", "grad", "vmap", "numpy")]

X = np.random.default_rng(0).uniform(-1, 1, (6, 7)).astype(np.float32)


def test_a_large_window_of_any_computation_is_a_loop():
    def products(x):
        return lax.reduce_window(x, 1.0, lambda a, b: a * b, (1, 80), padding=[(0, 0), (79, 79)])

    def loss(x):
        return rnp.sum(rnp.sin(products(x)))

    x = rnp.asarray(1 + 0.1 * X)
    grads = rb.jit(rb.grad(loss))(x)
    step = 1e-3
    for i, j in ((0, 0), (3, 6)):
        moved = [loss(x.at[i, j].add(s)) for s in (step, -step)]
        np.testing.assert_allclose(grads[i, j], (moved[0] - moved[1]) / (2 * step), rtol=2e-2)
    each = rb.vmap(rb.grad(lambda row: loss(row[None])))(x)
    np.testing.assert_allclose(each, grads, rtol=1e-4)


def test_computations_that_are_compiled_functions():
    @rb.jit
    def step(a, b):
        return rnp.logaddexp(a, b)

    out = lax.reduce(rnp.asarray(X), -np.inf, step, (1,))
    np.testing.assert_allclose(out, np.log(np.exp(X).sum(1)), rtol=1e-5)
    grads = rb.grad(lambda x: rnp.sum(lax.reduce(x, -np.inf, step, (1,))))(rnp.asarray(X))
    np.testing.assert_allclose(grads, np.exp(X) / np.exp(X).sum(1, keepdims=True), rtol=1e-4)


def test_a_small_network():
    rng = np.random.default_rng(1)
    image = rnp.asarray(rng.uniform(-1, 1, (2, 8, 8, 1)).astype(np.float32))
    kernel = rnp.asarray(rng.uniform(-1, 1, (3, 3, 1, 4)).astype(np.float32))

    def loss(kernel, image):
        out = lax.conv_general_dilated(
            image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        pooled = lax.reduce_window(rnp.tanh(out), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1))
        means = lax.reduce_window(pooled, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1)) / 4
        return rnp.mean(means**2)

    whole = rb.grad(loss)(kernel, image)
    each = rb.vmap(rb.grad(loss), in_axes=(None, 0))(kernel, image[:, None])
    np.testing.assert_allclose(rnp.mean(each, 0), whole, rtol=1e-4, atol=1e-6)
    hessian = rb.hessian(lambda k: loss(k, image))(kernel)
    flat = np.asarray(hessian).reshape(36, 36)
    np.testing.assert_allclose(flat, flat.T, rtol=1e-3, atol=1e-5)


def test_scatter_apply_applies_as_often_as_it_is_named():
    x = rnp.asarray(X)
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    places = rnp.array([[1], [1], [4], [9]])

    def changed(x):
        return lax.scatter_apply(x, places, lambda v: 2 * v + 1, numbers, update_shape=(4, 7))

    wanted = X.copy()
    for i in (1, 1, 4):
        wanted[i] = 2 * wanted[i] + 1
    for fn in (changed, rb.jit(changed)):
        np.testing.assert_allclose(fn(x), wanted, rtol=1e-6)
    _, tangent = rb.jvp(changed, (x,), (rnp.ones_like(x),))
    np.testing.assert_allclose(tangent[:, 0], [1, 4, 1, 1, 2, 1])
    np.testing.assert_allclose(x.at[rnp.array([1, 1, 4])].apply(lambda v: 2 * v + 1), wanted, rtol=1e-6)
    positive = rb.jit(lambda x: x.at[x > 0].apply(rnp.sqrt))(x)
    np.testing.assert_allclose(positive, np.where(X > 0, np.sqrt(np.abs(X)), X), rtol=1e-6)


def test_scatter_apply_to_unique_windows_has_a_gradient():
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))

    def total(x):
        return rnp.sum(
            lax.scatter_apply(
                x, rnp.array([[1], [4]]), rnp.sin, numbers, update_shape=(2, 7), unique_indices=True
            )
        )

    wanted = np.ones_like(X)
    wanted[[1, 4]] = np.cos(X[[1, 4]])
    np.testing.assert_allclose(rb.grad(total)(rnp.asarray(X)), wanted, rtol=1e-6)
