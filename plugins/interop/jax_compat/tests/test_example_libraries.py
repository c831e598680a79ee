"""``jax.example_libraries``: optimizers against their formulas in NumPy, layers against sums written out."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.example_libraries import optimizers, stax

GRADIENTS = [np.array(g, np.float32) for g in ([0.5, -1.0, 0.0], [0.25, 0.5, 1.0], [-2.0, 0.1, 0.3])]
START = np.array([1.0, -2.0, 0.5], np.float32)


def steps(made):
    """The parameters after each gradient, of a tree of two leaves."""
    init, update, params_of = made
    state, found = init({"a": START, "b": 2 * START}), []
    for i, g in enumerate(GRADIENTS):
        state = update(i, {"a": g, "b": g}, state)
        found.append(np.asarray(params_of(state)["a"]))
    return found


def by_hand(step):
    x, slots, found = START.astype(np.float64), {}, []
    for i, g in enumerate(GRADIENTS):
        x = step(i, x, g.astype(np.float64), slots)
        found.append(x)
    return found


def momentum(i, x, g, s):
    s["v"] = 0.9 * s.get("v", 0) + g
    return x - 0.1 * s["v"]


def nesterov(i, x, g, s):
    s["v"] = 0.9 * s.get("v", 0) + g
    return x - 0.1 * (0.9 * s["v"] + g)


def rmsprop(i, x, g, s):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g * g
    return x - 0.1 * g / np.sqrt(s["m"] + 1e-8)


def adam(i, x, g, s):
    s["m"], s["v"] = 0.9 * s.get("m", 0) + 0.1 * g, 0.999 * s.get("v", 0) + 0.001 * g * g
    m, v = s["m"] / (1 - 0.9 ** (i + 1)), s["v"] / (1 - 0.999 ** (i + 1))
    return x - 0.1 * m / (np.sqrt(v) + 1e-8)


def adamax(i, x, g, s):
    s["m"], s["u"] = 0.9 * s.get("m", 0) + 0.1 * g, np.maximum(0.999 * s.get("u", 0), abs(g))
    return x - 0.1 / (1 - 0.9 ** (i + 1)) * s["m"] / (s["u"] + 1e-8)


def adagrad(i, x, g, s):
    s["t"] = s.get("t", 0) + g * g
    s["v"] = 0.9 * s.get("v", 0) + 0.1 * g / np.sqrt(np.where(s["t"] > 0, s["t"], 1))
    return x - 0.1 * s["v"]


@pytest.mark.parametrize(
    ("made", "step"),
    [
        (optimizers.sgd(lambda i: 0.1 / (i + 1)), lambda i, x, g, s: x - 0.1 / (i + 1) * g),
        (optimizers.momentum(0.1, 0.9), momentum),
        (optimizers.nesterov(0.1, 0.9), nesterov),
        (optimizers.rmsprop(0.1), rmsprop),
        (optimizers.rmsprop_momentum(0.1, momentum=0.0), rmsprop),
        (optimizers.adam(0.1), adam),
        (optimizers.adamax(0.1), adamax),
        (optimizers.adagrad(0.1), adagrad),
        (optimizers.sm3(0.1), adagrad),  # of vectors it is AdaGrad
    ],
    ids="sgd momentum nesterov rmsprop rmsprop_momentum adam adamax adagrad sm3".split(),
)
def test_optimizers_follow_their_formulas(made, step):
    np.testing.assert_allclose(steps(made), by_hand(step), rtol=2e-5, atol=1e-6)


def test_sm3_keeps_a_number_for_each_row_and_column():
    init, update, params_of = optimizers.sm3(0.1, momentum=0.0)
    g = np.array([[1.0, 2.0, 0.5], [3.0, 0.0, 1.0]], np.float32)
    state = update(0, {"a": g}, init({"a": np.zeros((2, 3), np.float32)}))
    _, _, accumulators = optimizers.unpack_optimizer_state(state)["a"].subtree
    np.testing.assert_allclose(accumulators[0], [4.0, 9.0])
    np.testing.assert_allclose(accumulators[1], [9.0, 4.0, 1.0])
    np.testing.assert_allclose(params_of(state)["a"], -0.1 * np.sign(g), rtol=1e-6)


def test_states_are_trees_and_come_apart():
    init, update, params_of = optimizers.adam(0.1)
    params = {"a": rnp.ones(3), "b": (rnp.zeros(()),)}
    state = init(params)
    apart = optimizers.unpack_optimizer_state(state)
    assert isinstance(apart["a"], optimizers.JoinPoint) and len(rb.tree.leaves(state)) == 6
    again = optimizers.pack_optimizer_state(apart)
    assert rb.tree.structure(again) == rb.tree.structure(state)
    same = rb.jit(lambda s: update(0, params_of(s), s))(state)
    np.testing.assert_allclose(params_of(same)["a"], 0.9, rtol=1e-5)
    with pytest.raises(TypeError, match="no tree like that of the parameters"):
        update(0, {"a": rnp.ones(3)}, state)
    with pytest.raises(TypeError, match="JoinPoint"):
        optimizers.pack_optimizer_state(params)


def test_step_sizes():
    at = lambda schedule: [float(schedule(i)) for i in (0, 3, 12)]
    np.testing.assert_allclose(at(optimizers.exponential_decay(1.0, 3, 0.5)), [1, 0.5, 0.0625])
    np.testing.assert_allclose(at(optimizers.inverse_time_decay(1.0, 2, 1.0)), [1, 0.4, 1 / 7], rtol=1e-6)
    stairs = optimizers.inverse_time_decay(1.0, 2, 1.0, True)
    np.testing.assert_allclose(at(stairs), [1, 0.5, 1 / 7], rtol=1e-6)
    np.testing.assert_allclose(at(optimizers.polynomial_decay(1.0, 6, 0.5, 2.0)), [1, 0.625, 0.5])
    np.testing.assert_allclose(at(optimizers.piecewise_constant([1, 3], [3, 2, 1])), [3, 2, 1])
    with pytest.raises(ValueError, match="one value more than boundaries"):
        optimizers.piecewise_constant([1, 3], [3, 2])
    with pytest.raises(TypeError, match="a number or a function"):
        optimizers.make_schedule([1.0, 2.0])


def test_gradients_are_clipped_together():
    tree = {"a": rnp.array([3.0]), "b": rnp.array([4.0])}
    assert float(optimizers.l2_norm(tree)) == 5.0
    clipped = optimizers.clip_grads(tree, 1.0)
    np.testing.assert_allclose([clipped["a"][0], clipped["b"][0]], [0.6, 0.8], rtol=1e-6)
    assert float(optimizers.clip_grads(tree, 6.0)["b"][0]) == 4.0


def made(layer, shape, seed=0):
    init, apply = layer
    out_shape, params = init(rb.random.key(seed), shape)
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    out = apply(params, x)
    assert out.shape == out_shape
    return x, params, np.asarray(out)


def test_dense_and_elementwise():
    x, (W, b), out = made(stax.Dense(4), (2, 3))
    np.testing.assert_allclose(out, x @ np.asarray(W) + np.asarray(b), rtol=1e-5)
    x, _, out = made(stax.serial(stax.Tanh, stax.Relu), (2, 3))
    np.testing.assert_allclose(out, np.maximum(np.tanh(x), 0), rtol=1e-5)


@pytest.mark.forbidden("enable_x64")
def test_convolution_against_sums():
    x, (W, b), out = made(stax.Conv(2, (2, 2)), (1, 3, 4, 3))
    wanted = np.zeros((1, 2, 3, 2))
    for i in range(2):
        for j in range(3):
            wanted[:, i, j] = np.einsum("nhwc,hwco->no", x[:, i : i + 2, j : j + 2], np.asarray(W))
    np.testing.assert_allclose(out, wanted + np.asarray(b), rtol=1e-4, atol=1e-5)
    made(stax.ConvTranspose(2, (2, 2), strides=(2, 2)), (1, 3, 4, 3))
    made(stax.Conv1DTranspose(2, (3,)), (2, 5, 3))


def test_batch_norm_and_pooling():
    x, _, out = made(stax.BatchNorm(), (4, 3, 3, 2))
    np.testing.assert_allclose(out.mean((0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(out.std((0, 1, 2)), 1, atol=1e-3)
    x, _, out = made(stax.MaxPool((2, 2), strides=(2, 2)), (1, 4, 4, 2))
    np.testing.assert_allclose(out, x.reshape(1, 2, 2, 2, 2, 2).max((2, 4)))
    x, _, out = made(stax.AvgPool((2, 2), padding="SAME"), (1, 2, 2, 1))
    np.testing.assert_allclose(out[0, 1, 1], x[0, 1, 1])  # what lies outside does not count


def test_layers_of_layers():
    branches = stax.parallel(stax.Identity, stax.Exp)
    x, _, out = made(stax.serial(stax.FanOut(2), branches, stax.FanInConcat(), stax.Flatten), (2, 3))
    np.testing.assert_allclose(out, np.concatenate([x, np.exp(x)], -1), rtol=1e-5)
    x, _, out = made(stax.serial(stax.FanOut(2), branches, stax.FanInSum), (2, 3))
    np.testing.assert_allclose(out, x + np.exp(x), rtol=1e-5)
    dense = stax.shape_dependent(lambda shape: stax.Dense(shape[-1]))
    _, ((W, _), ()), _ = made(stax.serial(dense, stax.LogSoftmax), (2, 3))
    assert W.shape == (3, 3)


def test_dropout_needs_a_key():
    _, apply = stax.Dropout(0.5)
    x = np.ones((100, 100), np.float32)
    kept = np.asarray(apply((), x, rng=rb.random.key(0)))
    assert set(np.unique(kept)) == {0.0, 2.0} and abs(kept.mean() - 1) < 0.05
    np.testing.assert_array_equal(stax.Dropout(0.5, "test")[1]((), x, rng=rb.random.key(0)), x)
    with pytest.raises(ValueError, match="needs a key"):
        apply((), x)


def test_a_batch_of_unknown_size():
    init, _ = stax.serial(stax.Conv(2, (3, 3), padding="SAME"), stax.MaxPool((2, 2)))
    shape, _ = init(rb.random.key(0), (-1, 8, 8, 1))
    assert shape == (-1, 7, 7, 2)


def test_what_does_not_fit_is_refused():
    """Gradients of other shapes made the parameters larger; layers without parameters were left out."""
    init, update, _ = optimizers.adam(0.1)
    state = init({"a": START})
    for wrong in (np.ones((2, 3), "f4"), np.float32(1), START[:1]):
        with pytest.raises(TypeError, match=r"gradient\['a'\] has the shape"):
            update(0, {"a": wrong}, state)
    layers = (stax.Dense(2), stax.Relu)
    init, apply = stax.serial(*layers)
    _, params = init(rb.random.key(0), (-1, 3))
    for wrong in (params[:1], [*params, ()]):
        with pytest.raises(ValueError, match=r"serial of 2 layers got [13] params"):
            apply(wrong, START[None])
    init, apply = stax.parallel(*layers)
    _, params = init(rb.random.key(0), [(-1, 3), (-1, 3)])
    with pytest.raises(ValueError, match="parallel of 2 layers got 1 params"):
        apply(params[:1], [START[None]] * 2)
    with pytest.raises(ValueError, match="parallel of 2 layers got 3 inputs"):
        apply(params, [START[None]] * 3)
    with pytest.raises(ValueError, match="parallel of 2 layers got 1 shapes"):
        init(rb.random.key(0), [(-1, 3)])
