"""A recurrent network in Haiku learns to write like Python's documentation, a symbol after another.

    rabbet run-jax examples/jax_libraries/haiku_language.py

The figure shows the loss in bits a symbol, of the training and of pages that are held out, and a sample.
"""

import math
import textwrap

import drawing
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import text
from drawing import plt

SYMBOLS, WIDTH, BATCH, LENGTH = 128, 192, 32, 64


def network(symbols, state):
    """Logits of the next symbol at every place: (batch, length, SYMBOLS), and the state after the last."""
    core = hk.GRU(WIDTH)
    if state is None:
        state = core.initial_state(len(symbols))
    x = hk.Embed(SYMBOLS, 64)(symbols)
    x, state = hk.dynamic_unroll(core, x, state, time_major=False)
    return hk.Linear(SYMBOLS)(x), state


model = hk.without_apply_rng(hk.transform(network))


def bits(params, piece):
    """The mean loss over pieces of shape (batch, length + 1), in bits."""
    logits, _ = model.apply(params, piece[:, :-1], None)
    return optax.softmax_cross_entropy_with_integer_labels(logits, piece[:, 1:]).mean() / math.log(2)


@jax.jit
def sample(params, key, start, temperature):
    """300 symbols that follow a start of shape (length,)."""
    logits, state = model.apply(params, start[None], None)

    def following(carry, key):
        logits, state = carry
        symbol = jax.random.categorical(key, logits / temperature)
        logits, state = model.apply(params, symbol[:, None], state)
        return (logits[:, -1], state), symbol[0]

    _, symbols = jax.lax.scan(following, (logits[:, -1], state), jax.random.split(key, 300))
    return symbols


def training(steps):
    """The trained parameters, and the losses of steps: of the training, and of held-out pages."""
    symbols, held_out = text.documentation()
    rng = np.random.default_rng(0)
    examined = text.windows(held_out, 64, LENGTH + 1, np.random.default_rng(1))
    rate = optax.cosine_decay_schedule(4e-3, steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))
    params = model.init(jax.random.key(0), examined[:, :-1], None)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, piece):
        loss, grads = jax.value_and_grad(bits)(params, piece)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    losses, held = [], []
    for i in range(steps):
        params, state, loss = step(params, state, text.windows(symbols, BATCH, LENGTH + 1, rng))
        losses.append((i, float(loss)))
        if i % 50 == 49 or i == steps - 1:
            held.append((i, float(jax.jit(bits)(params, examined))))
            print(f"step {i + 1}: {loss:.3f} bits a symbol, held out {held[-1][1]:.3f}")
    return params, losses, held


def main():
    args = drawing.options(__doc__.partition("\n")[0], 500).parse_args()
    params, losses, held = training(args.steps)
    start = jnp.array(np.frombuffer(b"The function ", np.uint8).astype(np.int32))
    written = "The function " + text.readable(sample(params, jax.random.key(2), start, 0.7))
    print(written)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    drawing.curve(left, losses, "training", linewidth=0.7)
    drawing.curve(left, held, "held out")
    left.set_ylabel("bits a symbol")
    left.legend()
    lines = [line for part in written.splitlines() for line in textwrap.wrap(part, 60)]
    right.text(0, 1, "\n".join(lines[:18]).replace("$", r"\$"), va="top", family="monospace", fontsize=7)
    right.axis("off")
    drawing.write(figure, args.out, "haiku_language")
    print(losses[0][1], losses[-1][1], held[-1][1])


if __name__ == "__main__":
    main()
