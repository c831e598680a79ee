"""Cases written for Equinox: its layers, and training with them."""

# ruff: noqa: E501
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

KEY = jr.PRNGKey(0)

LAYERS = {
    "linear": (lambda k: eqx.nn.Linear(3, 2, key=k), (3,), (2,)),
    "scalar": (lambda k: eqx.nn.Linear("scalar", "scalar", key=k), (), ()),
    "no bias": (lambda k: eqx.nn.Linear(3, 2, use_bias=False, key=k), (3,), (2,)),
    "mlp": (lambda k: eqx.nn.MLP(3, 2, 8, 2, key=k), (3,), (2,)),
    "mlp activation": (lambda k: eqx.nn.MLP(3, "scalar", 8, 1, jnp.sin, jnp.tanh, key=k), (3,), ()),
    "identity": (lambda k: eqx.nn.Identity(), (3,), (3,)),
    "conv1d": (lambda k: eqx.nn.Conv1d(3, 2, 3, key=k), (3, 8), (2, 6)),
    "conv2d": (lambda k: eqx.nn.Conv2d(4, 2, 3, stride=2, padding=1, groups=2, key=k), (4, 8, 8), (2, 4, 4)),
    "conv2d same": (lambda k: eqx.nn.Conv2d(4, 2, 3, padding="SAME", dilation=2, key=k), (4, 8, 8), (2, 8, 8)),
    "conv2d circular": (lambda k: eqx.nn.Conv2d(1, 2, 3, padding="SAME", padding_mode="CIRCULAR", key=k), (1, 5, 5), (2, 5, 5)),
    "conv3d": (lambda k: eqx.nn.Conv3d(1, 2, 2, key=k), (1, 3, 3, 3), (2, 2, 2, 2)),
    "transposed 1d": (lambda k: eqx.nn.ConvTranspose1d(3, 2, 3, stride=2, key=k), (3, 8), (2, 17)),
    "transposed 2d": (lambda k: eqx.nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1, padding=1, key=k), (3, 4, 4), (2, 8, 8)),
    "layer norm": (lambda k: eqx.nn.LayerNorm((3, 4)), (3, 4), (3, 4)),
    "rms norm": (lambda k: eqx.nn.RMSNorm(4), (4,), (4,)),
    "group norm": (lambda k: eqx.nn.GroupNorm(2, 4), (4, 5, 5), (4, 5, 5)),
    "max pool": (lambda k: eqx.nn.MaxPool2d(2, 2), (3, 6, 6), (3, 3, 3)),
    "max pool ceil": (lambda k: eqx.nn.MaxPool1d(2, 2, use_ceil=True), (3, 7), (3, 4)),
    "avg pool": (lambda k: eqx.nn.AvgPool2d(2, 1, padding=1), (3, 6, 6), (3, 7, 7)),
    "adaptive": (lambda k: eqx.nn.AdaptiveAvgPool2d((2, 3)), (3, 6, 7), (3, 2, 3)),
    "adaptive max": (lambda k: eqx.nn.AdaptiveMaxPool1d(2), (3, 7), (3, 2)),
    "prelu": (lambda k: eqx.nn.PReLU(0.25), (3,), (3,)),
    "lambda": (lambda k: eqx.nn.Lambda(jnp.abs), (3,), (3,)),
    "weight norm": (lambda k: eqx.nn.WeightNorm(eqx.nn.Linear(3, 2, key=k)), (3,), (2,)),
    "sequential": (lambda k: eqx.nn.Sequential([eqx.nn.Linear(3, 2, key=k), eqx.nn.Lambda(jax.nn.relu)]), (3,), (2,)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, shape, wanted = LAYERS[name]
    layer = make(KEY)
    x = jr.normal(jr.PRNGKey(1), shape)
    out = layer(x)
    assert out.shape == wanted and bool(jnp.all(jnp.isfinite(out)))
    grads = eqx.filter_jit(eqx.filter_grad(lambda both: jnp.sum(both[0](both[1]) ** 2)))((layer, x))
    assert grads[1].shape == shape
    np.testing.assert_allclose(eqx.filter_jit(layer)(x), out, rtol=1e-4, atol=1e-5)


def test_recurrent_cells():
    gru, lstm = eqx.nn.GRUCell(3, 4, key=KEY), eqx.nn.LSTMCell(3, 4, key=KEY)
    h, _ = jax.lax.scan(lambda h, x: (gru(x, h), None), jnp.zeros(4), jnp.ones((5, 3)))
    assert h.shape == (4,)
    (h, c), _ = jax.lax.scan(lambda s, x: (lstm(x, s), None), (jnp.zeros(4), jnp.zeros(4)), jnp.ones((5, 3)))
    assert h.shape == c.shape == (4,)


def test_embeddings_and_attention():
    embedding = eqx.nn.Embedding(10, 4, key=KEY)
    assert embedding(3).shape == (4,)
    rope = eqx.nn.RotaryPositionalEmbedding(4)
    assert rope(jnp.ones((6, 4))).shape == (6, 4)
    attention = eqx.nn.MultiheadAttention(2, 4, use_query_bias=True, key=KEY)
    out = attention(jnp.ones((5, 4)), jnp.ones((6, 4)), jnp.ones((6, 4)), mask=jnp.ones((5, 6), bool))
    assert out.shape == (5, 4)
    dropped = eqx.nn.MultiheadAttention(2, 4, dropout_p=0.5, key=KEY)
    assert dropped(jnp.ones((5, 4)), jnp.ones((5, 4)), jnp.ones((5, 4)), key=KEY).shape == (5, 4)


def test_dropout():
    dropout = eqx.nn.Dropout(0.5)
    out = dropout(jnp.ones(1000), key=KEY)
    assert set(np.unique(out)) == {0.0, 2.0}
    np.testing.assert_array_equal(dropout(jnp.ones(3), inference=True), np.ones(3))
    with pytest.raises(RuntimeError):
        dropout(jnp.ones(3))


@pytest.mark.parametrize("mode", ["ema", "batch"])
def test_batch_norm_keeps_a_state(mode):
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, axis_name="batch", mode=mode)
    x = jr.normal(KEY, (16, 3)) * 2 + 1
    step = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    for _ in range(3):
        out, state = eqx.filter_jit(step)(x, state)
    assert out.shape == (16, 3)
    out, _ = jax.vmap(eqx.nn.inference_mode(norm), axis_name="batch", in_axes=(0, None), out_axes=(0, None))(
        x, state
    )
    assert bool(jnp.all(jnp.isfinite(out)))


def test_spectral_norm_keeps_a_state():
    make = lambda key: eqx.nn.SpectralNorm(eqx.nn.Linear(3, 3, key=key), "weight", key=key)
    norm, state = eqx.nn.make_with_state(make)(KEY)
    out, state = norm(jnp.ones(3), state)
    assert out.shape == (3,)


def test_states():
    class Counter(eqx.Module):
        index: eqx.nn.StateIndex

        def __init__(self):
            self.index = eqx.nn.StateIndex(jnp.array(0))

        def __call__(self, x, state):
            value = state.get(self.index)
            return x + value, state.set(self.index, value + 1)

    counter, state = eqx.nn.make_with_state(Counter)()
    step = eqx.filter_jit(lambda x, s: counter(x, s))
    for _ in range(3):
        out, state = step(jnp.array(0), state)
    assert int(out) == 2 and int(state.get(counter.index)) == 3
    sub = state.substate(counter)
    assert int(state.update(sub).get(counter.index)) == 3


def test_shared():
    class Tied(eqx.Module):
        shared: eqx.nn.Shared

        def __init__(self):
            parts = (eqx.nn.Embedding(4, 3, key=KEY), eqx.nn.Linear(3, 4, key=KEY))
            self.shared = eqx.nn.Shared(parts, lambda p: p[1].weight, lambda p: p[0].weight)

        def __call__(self, i):
            embedding, linear = self.shared()
            return linear(embedding(i))

    assert Tied()(1).shape == (4,)


def test_training():
    import optax

    model = eqx.nn.MLP(1, 1, 16, 1, key=KEY)
    xs = jnp.linspace(-1, 1, 32)[:, None]
    ys = xs**2
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model, state):
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(xs) - ys) ** 2))(model)
        updates, state = optimizer.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, loss

    losses = []
    for _ in range(60):
        model, state, loss = step(model, state)
        losses.append(float(loss))
    assert losses[-1] < losses[0] / 10
