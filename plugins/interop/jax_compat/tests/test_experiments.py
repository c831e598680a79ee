"""Experimental modules of JAX: what they compute, without serving ``jax``."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import memory
from rabbet_jax.overlay.experimental import buffer_callback as buffers
from rabbet_jax.overlay.experimental import rnn
from rabbet_jax.overlay.experimental.fused import fused
from rabbet_jax.overlay.experimental.overlap import program_order
from rabbet_jax.overlay.experimental.scheduling_groups import scheduling_group
from rabbet_jax.overlay.experimental.xla_metadata import xla_metadata_call2

SIZES = 3, 4, 2, True  # input, hidden, layers, both directions


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(x, h, c, weights, length):
    """One sequence by loops, in float64."""
    of_input, of_state, first, second = [{k: np.float64(v) for k, v in w.items()} for w in weights]
    for layer in range(2):
        outs = []
        for direction in range(2):
            i, steps = layer * 2 + direction, range(length)
            out, state, cell = np.zeros((len(x), 4)), np.float64(h[i]), np.float64(c[i])
            for t in reversed(steps) if direction else steps:
                gates = of_input[i] @ x[t] + first[i] + of_state[i] @ state + second[i]
                a, f, g, o = np.split(gates, 4)
                cell = sigmoid(f) * cell + sigmoid(a) * np.tanh(g)
                state = out[t] = sigmoid(o) * np.tanh(cell)
            outs.append(out)
        x = np.concatenate(outs, -1)
    return x


def test_lstm():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=rnn.get_num_params_in_lstm(*SIZES)).astype("float32")
    x, h, c = (rng.normal(size=s).astype("float32") for s in ((2, 5, 3), (4, 2, 4), (4, 2, 4)))
    out, last, _ = rnn.lstm(x, h, c, weights, np.array([5, 3]), 3, 4, 2, 0.0, True)
    parts = rnn.unpack_lstm_weights(weights, *SIZES)
    for i, length in enumerate((5, 3)):
        np.testing.assert_allclose(out[i], by_hand(x[i], h[:, i], c[:, i], parts, length), atol=2e-6)
    np.testing.assert_array_equal(out[1, 3:], 0.0)
    assert last.shape == (4, 2, 4)
    swapped = rnn.swap_lstm_gates(weights, *SIZES)
    assert not np.array_equal(swapped, weights)
    np.testing.assert_array_equal(rnn.swap_lstm_gates(swapped, *SIZES), weights)
    with pytest.raises(ValueError, match="a vector of 736 weights, got shape"):
        rnn.unpack_lstm_weights(weights[1:], *SIZES)


def test_a_callback_writes_into_buffers():
    seen = []

    def add_one(context, out, x):
        seen.append((context.stage, x.writeable, out.writeable, out.shape))
        np.asarray(out)[...] = np.asarray(x) + 1

    kind = rb.ShapeDtypeStruct((3,), "float32")
    call = buffers.buffer_callback(add_one, kind, vmap_method="broadcast_all")
    np.testing.assert_array_equal(call(rnp.arange(3.0)), [1, 2, 3])
    assert seen == [(buffers.ExecutionStage.EXECUTE, False, True, (3,))]
    np.testing.assert_array_equal(rb.vmap(call)(rnp.ones((2, 3))), np.full((2, 3), 2.0))
    x = rnp.arange(3.0)
    begun = buffers.buffer_callback(
        lambda context, out, x: np.asarray(out).__setitem__(1, 7.0), kind, input_output_aliases={0: 0}
    )
    np.testing.assert_array_equal(begun(x), [0, 7, 2])
    np.testing.assert_array_equal(x, [0, 1, 2])


def test_attributes_of_calls():
    text = rb.jit(scheduling_group("first")(lambda x: rnp.sin(x) * 2)).lower(1.0).as_text()
    assert 'scheduling_group = "first"' in text
    text = rb.jit(rb.grad(xla_metadata_call2(rnp.sin, {"part": 1}))).lower(1.0).as_text()
    assert 'part = "1"' in text
    with pytest.raises(NotImplementedError, match="ad_metadata='drop'"):
        xla_metadata_call2(rnp.sin, {"part": 1}, ad_metadata="drop")
    pair = fused(out_spaces=(memory.Space.Device, memory.Space.Host))(lambda x: (x * 2, x + 1))
    assert tuple(map(float, rb.jit(pair)(3.0))) == (6.0, 4.0)
    assert "MUST_FUSE" in rb.jit(pair).lower(3.0).as_text()


def test_operations_in_the_order_of_the_program():
    f = program_order(lambda x: {"out": rnp.sin(rnp.cos(x))}, enforce=True)
    lines = rb.jit(f).lower(1.0).as_text().splitlines()
    order = [word for line in lines for word in (".cosine", ".optimization_barrier", ".sine") if word in line]
    assert order[:3] == [".cosine", ".optimization_barrier", ".sine"]
    np.testing.assert_allclose(f(1.0)["out"], np.sin(np.cos(1.0)), rtol=1e-6)
    assert program_order(rnp.sin, enforce=False) is rnp.sin
