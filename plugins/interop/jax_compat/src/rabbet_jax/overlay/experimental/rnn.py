"""``jax.experimental.rnn``: LSTMs of several layers and both directions, with all weights in one vector.

The vector is cuDNN's: for each layer and direction the weights of the input, then those of the state; behind
all of them, in the same order, the two biases. Gates come in the order input, forget, cell, output. It is an
ordinary program, on every platform, and its derivatives are those of the program.
"""

import functools
import math

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax, random

sigmoid, tanh = rb.nn.sigmoid, rnp.tanh


def _layers(input_size, hidden_size, num_layers, bidirectional):
    """The shapes of the weights of the input, layer by layer and direction by direction."""
    directions = 2 if bidirectional else 1
    widths = [input_size] + [hidden_size * directions] * (num_layers - 1)
    return [(4 * hidden_size, width) for width in widths for _ in range(directions)]


def get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional):
    """How many numbers the vector of all weights has."""
    shapes = _layers(input_size, hidden_size, num_layers, bidirectional)
    return sum(rows * (width + hidden_size + 2) for rows, width in shapes)


def init_lstm_weight(rng, input_size, hidden_size, num_layers, bidirectional):
    """A vector of weights, uniform between -k and k with ``k = sqrt(1 / hidden_size)``."""
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    k = math.sqrt(1.0 / hidden_size)
    return random.uniform(rng, (count,), dtype="float32", minval=-k, maxval=k)


def unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional):
    """The vector as four dicts, by number of layer and direction: weights of the input, weights of the
    state, biases of the input, biases of the state.

    Raises:
      ValueError: if the vector has another number of elements.
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    if weights.shape != (count,):
        raise ValueError(f"unpack_lstm_weights takes a vector of {count} weights, got shape {weights.shape}")
    shapes, start = _layers(input_size, hidden_size, num_layers, bidirectional), 0
    of_input, of_state, first, second = {}, {}, {}, {}

    def take(*shape):
        nonlocal start
        start += math.prod(shape)
        return weights[start - math.prod(shape) : start].reshape(shape)

    for i, (rows, width) in enumerate(shapes):
        of_input[i], of_state[i] = take(rows, width), take(rows, hidden_size)
    for i, (rows, _) in enumerate(shapes):
        first[i], second[i] = take(rows), take(rows)
    return of_input, of_state, first, second


def swap_lstm_gates(weights, input_size, hidden_size, num_layers, bidirectional):
    """The vector with the gates "cell" and "output" of every weight and bias in each other's place."""
    parts = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)

    def swapped(w):
        i, f, g, o = rnp.split(w, 4)
        return rnp.concatenate([i, f, o, g]).reshape(-1)

    of_input, of_state, first, second = [{k: swapped(w) for k, w in part.items()} for part in parts]
    values = lambda a, b: [w for pair in zip(a.values(), b.values(), strict=True) for w in pair]
    return rnp.concatenate([*values(of_input, of_state), *values(first, second)])


def _direction(x, h, c, weights, lengths, precision, reverse):
    """One layer in one direction: its outputs and last states. Behind the end of a sequence outputs are zero
    and states stay.
    """
    w, u, b, d = weights
    known = lengths[:, None] > rnp.arange(x.shape[1])[None, :]  # (batch, time)
    fed = rnp.matmul(x, w.T, precision=precision) + b + d

    def step(state, now):
        fed, valid = now
        h, c = state
        i, f, g, o = rnp.split(fed + rnp.matmul(h, u.T, precision=precision), 4, axis=-1)
        after = sigmoid(f) * c + sigmoid(i) * tanh(g)
        out = sigmoid(o) * tanh(after)
        valid = valid[:, None]
        kept = rnp.where(valid, out, h), rnp.where(valid, after, c)
        return kept, rnp.where(valid, out, rnp.zeros_like(out))

    over_time = fed.swapaxes(0, 1), known.T
    (h, c), outs = lax.scan(step, (h, c), over_time, reverse=reverse)
    return outs.swapaxes(0, 1), h, c


def lstm_ref(
    x, h_0, c_0, W_ih, W_hh, b_ih, b_hh, seq_lengths, input_size, hidden_size, num_layers, dropout,
    bidirectional, precision=None,
):  # fmt: skip
    """An LSTM with weights as ``unpack_lstm_weights`` returns them; see ``lstm``."""
    if dropout:
        raise NotImplementedError("lstm: dropout between layers is not written, give 0 and drop out yourself")
    directions = 2 if bidirectional else 1
    last_h, last_c = [], []
    for layer in range(num_layers):
        outs = []
        for direction in range(directions):
            i = layer * directions + direction
            weights = W_ih[i], W_hh[i], b_ih[i], b_hh[i]
            out, h, c = _direction(x, h_0[i], c_0[i], weights, seq_lengths, precision, direction == 1)
            outs.append(out)
            last_h.append(h)
            last_c.append(c)
        x = rnp.concatenate(outs, axis=-1)
    return x, rnp.stack(last_h), rnp.stack(last_c)


@functools.partial(rb.jit, static_argnums=(5, 6, 7, 8, 9, 10))
def lstm(
    x, h_0, c_0, weights, seq_lengths, input_size, hidden_size, num_layers, dropout, bidirectional,
    precision=None,
):  # fmt: skip
    """An LSTM.

    Args:
      x: (batch, time, input_size).
      h_0, c_0: first states, (num_layers * directions, batch, hidden_size).
      weights: the vector of all weights, see ``init_lstm_weight``.
      seq_lengths: (batch,), how many steps of each sequence count.
      input_size, hidden_size, num_layers, bidirectional: sizes.
      dropout: 0.

    Returns:
      outputs (batch, time, hidden_size * directions), zero behind the end of a sequence, and the last states.
    """
    w, u, b, d = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return lstm_ref(
        x, h_0, c_0, w, u, b, d, seq_lengths, input_size, hidden_size, num_layers, dropout, bidirectional,
        precision,
    )  # fmt: skip


WHY = "parts of cuDNN's call, which is not made here", "lstm, lstm_ref and rabbet.grad are the public way"
ABSENT = "lstm_bwd lstm_fwd rnn_abstract_eval rnn_bwd_abstract_eval rnn_bwd_p rnn_fwd_p"
__all__ = [
    "get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_ref", "sigmoid", "swap_lstm_gates", "tanh",
    "unpack_lstm_weights",
]  # fmt: skip
