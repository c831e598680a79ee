"""Programs written for JAX's API that must run here after changing only their imports.

Each test is one program as its author would write it, with the numbers that it must give. They cross every
package, so a failure here that no other test shows is a seam that does not meet.
"""

import math

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import grad, hessian, jit, make_jaxpr, random, vmap

pytestmark = pytest.mark.optimized


def test_linear_regression_by_gradient_descent():
    key_x, key_noise = random.split(random.key(0))
    true_w = rnp.array([2.0, -3.4, 1.7])
    X = random.normal(key_x, (1000, 3))
    y = X @ true_w + 4.2 + 0.01 * random.normal(key_noise, (1000,))

    def loss(params, X, y):
        w, b = params
        return rnp.mean((X @ w + b - y) ** 2)

    @jit
    def step(params, X, y):
        return rb.tree.map(lambda p, g: p - 0.05 * g, params, grad(loss)(params, X, y))

    params = (rnp.zeros(3), 0.0)
    for _ in range(500):
        params = step(params, X, y)
    w, b = params
    assert rnp.max(rnp.abs(w - true_w)) < 0.05
    assert abs(b - 4.2) < 0.05


def init_mlp(key, sizes):
    keys = random.split(key, len(sizes) - 1)
    return [
        (random.normal(k, (m, n)) / math.sqrt(m), rnp.zeros(n))
        for k, m, n in zip(keys, sizes[:-1], sizes[1:])
    ]


def predict(params, inputs):
    for w, b in params:
        outputs = rnp.dot(inputs, w) + b
        inputs = rnp.tanh(outputs)
    return outputs


def mlp_loss(params, inputs, targets):
    return rnp.sum((predict(params, inputs) - targets) ** 2)


def test_mlp_gradient_and_per_example_gradients():
    params = init_mlp(random.key(1), [5, 8, 3])
    inputs = random.normal(random.key(2), (16, 5))
    targets = random.normal(random.key(3), (16, 3))
    total = jit(grad(mlp_loss))(params, inputs, targets)
    each = jit(vmap(grad(mlp_loss), in_axes=(None, 0, 0)))(params, inputs, targets)
    for (w, b), (ws, bs), (w0, b0) in zip(total, each, params):
        assert w.shape == w0.shape and b.shape == b0.shape
        assert ws.shape == (16, *w0.shape) and bs.shape == (16, *b0.shape)
        np.testing.assert_allclose(rnp.sum(ws, 0), w, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(rnp.sum(bs, 0), b, rtol=1e-4, atol=1e-4)


def tanh(x):
    y = rnp.exp(-2.0 * x)
    return (1.0 - y) / (1.0 + y)


def test_gradient_of_tanh_and_its_third_derivative():
    assert abs(grad(tanh)(1.0) - 0.4199743) < 1e-6
    assert abs(grad(grad(grad(tanh)))(1.0) - 0.62162673) < 1e-5


def test_gradient_through_a_python_branch_on_the_value():
    def abs_val(x):
        if x > 0:
            return x
        return -x

    assert grad(abs_val)(1.0) == 1.0
    assert grad(abs_val)(-1.0) == -1.0


def test_pairwise_distances_by_nested_vmap():
    def l1_distance(x, y):
        return rnp.sum(rnp.abs(x - y))

    def pairwise_distances(distance, xs):
        return vmap(lambda x: vmap(lambda y: distance(x, y))(xs))(xs)

    xs = random.normal(random.key(0), (100, 3))
    distances = pairwise_distances(l1_distance, xs)
    assert distances.shape == (100, 100)
    host = np.asarray(xs)
    np.testing.assert_allclose(distances, np.abs(host[:, None] - host[None]).sum(-1), rtol=1e-5, atol=1e-6)


def test_elementwise_function_of_a_large_matrix_jitted():
    def slow_f(x):
        return x * x + x * 2.0

    x = rnp.ones((5000, 5000))
    fast_f = jit(slow_f)
    result = fast_f(x)
    assert result.shape == (5000, 5000)
    assert result.dtype == rnp.float32
    assert rnp.all(result == 3.0)


def test_make_jaxpr_prints_the_two_equations():
    def f(u, v):
        w = u + v
        return w**2

    printed = str(make_jaxpr(f)(1, 2))
    assert printed == (
        "{ lambda ; a:i32[] b:i32[]. let\n    c:i32[] = add a b\n    d:i32[] = integer_pow[y=2] c\n"
        "  in (d,) }"
    )


def test_a_jitted_function_is_traced_once_per_signature(capsys):
    @jit
    def f(x, y):
        print("tracing")
        return rnp.dot(x + 1, y + 1)

    x, y = rnp.ones((3, 4)), rnp.ones(4)
    first, second = f(x, y), f(x * 2, y)
    assert capsys.readouterr().out.count("tracing") == 1
    assert first.tolist() == [16.0] * 3
    assert second.tolist() == [24.0] * 3
    f(rnp.ones((2, 4)), y)
    assert capsys.readouterr().out.count("tracing") == 1


def wave(v):
    x, y, z = v
    return rnp.sin(x) * rnp.cos(y) * z


def test_gradient_against_the_analytic_one():
    x, y, z = 0.5, -1.2, 2.0
    expected = [math.cos(x) * math.cos(y) * z, -math.sin(x) * math.sin(y) * z, math.sin(x) * math.cos(y)]
    np.testing.assert_allclose(grad(wave)(rnp.array([x, y, z])), expected, rtol=1e-5, atol=1e-6)


def test_hessian_against_the_analytic_one():
    x, y, z = 0.5, -1.2, 2.0
    sx, cx, sy, cy = math.sin(x), math.cos(x), math.sin(y), math.cos(y)
    expected = [
        [-sx * cy * z, -cx * sy * z, cx * cy],
        [-cx * sy * z, -sx * cy * z, -sx * sy],
        [cx * cy, -sx * sy, 0.0],
    ]
    np.testing.assert_allclose(hessian(wave)(rnp.array([x, y, z])), expected, rtol=1e-5, atol=1e-6)


def test_vmap_over_the_inputs_of_a_model():
    def model(params, x):
        weights, bias = params
        return rnp.dot(weights, x) + bias

    params = (rnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), rnp.array([0.1, 0.2, 0.3]))
    batch = rnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]])
    outputs = vmap(model, in_axes=(None, 0))(params, batch)
    assert outputs.shape == (4, 3)
    np.testing.assert_allclose(
        outputs, np.asarray(batch) @ np.asarray(params[0]).T + np.asarray(params[1]), rtol=1e-6
    )


def test_a_hundred_rounds_of_matrix_product_and_tanh():
    @jit
    def rounds(x):
        for _ in range(100):
            x = rnp.dot(x, x.T)
            x = rnp.tanh(x)
        return x

    x = random.normal(random.key(0), (64, 64)) * 0.01
    expected = np.asarray(x, np.float64)
    for _ in range(100):
        expected = np.tanh(expected @ expected.T)
    result = rounds(x)
    assert result.shape == (64, 64)
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_a_chain_of_large_matrices():
    def fn(x):
        y1 = x + x * x + 3
        y2 = x * x + x * x.T
        return y1 * y2

    host = np.random.RandomState(0).randn(3000, 3000).astype(np.float32)
    x = rnp.array(host)
    expected = (host + host * host + 3) * (host * host + host * host.T)
    np.testing.assert_allclose(jit(fn)(x), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fn(x), expected, rtol=1e-4, atol=1e-4)


def test_device_put_and_devices():
    cpu = rb.devices("cpu")[0]
    x = rb.device_put(np.arange(6.0).reshape(2, 3), cpu)
    assert x.devices() == {cpu}
    assert (x + 1).devices() == {cpu}
    assert cpu.platform == "cpu"


def test_indexed_update_returns_a_new_array():
    x = rnp.zeros(5)
    y = x.at[2].add(10)
    assert y.tolist() == [0, 0, 10, 0, 0]
    assert x.tolist() == [0] * 5
    i = rnp.array([0, 0, 4])
    assert x.at[i].add(10).tolist() == [20, 0, 0, 0, 10]
