"""A convolutional network in Flax learns scikit-learn's handwritten digits; Optax trains it.

    rabbet run-jax examples/jax_libraries/flax_digits.py

The figure shows loss and accuracy over the training, and the held-out digits that the network takes for
others.
"""

import drawing
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from drawing import plt
from flax.training import train_state
from sklearn.datasets import load_digits

BATCH = 64


class Network(nn.Module):
    @nn.compact
    def __call__(self, images, train):
        x = images[..., None]
        for features in (16, 32):
            x = nn.Conv(features, (3, 3), use_bias=False)(x)
            x = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.9)(x))
            x = nn.max_pool(x, (2, 2), (2, 2))
        x = nn.Dropout(0.3, deterministic=not train)(x.reshape(len(x), -1))
        return nn.Dense(10)(x)


class State(train_state.TrainState):
    batch_stats: dict


def load():
    """Images of 8x8 pixels in 0..1 and labels; a fifth of them, drawn once, is held out."""
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    images, labels = (digits.images[order] / 16).astype(np.float32), digits.target[order].astype(np.int32)
    cut = len(labels) // 5
    return (images[cut:], labels[cut:]), (images[:cut], labels[:cut])


def create(key, steps):
    network = Network()
    variables = network.init(key, jnp.zeros((1, 8, 8)), train=False)
    rate = optax.cosine_decay_schedule(3e-3, steps)
    return State.create(
        apply_fn=network.apply, params=variables["params"], batch_stats=variables["batch_stats"],
        tx=optax.adamw(rate, weight_decay=1e-4),
    )  # fmt: skip


@jax.jit
def step(state, key, images, labels):
    def loss_of(params):
        logits, updates = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats}, images, train=True,
            mutable=["batch_stats"], rngs={"dropout": key},
        )  # fmt: skip
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
        return loss, updates["batch_stats"]

    (loss, batch_stats), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, batch_stats=batch_stats), loss


@jax.jit
def predict(state, images):
    logits = state.apply_fn({"params": state.params, "batch_stats": state.batch_stats}, images, train=False)
    return logits.argmax(-1)


def draw(losses, accuracies, images, labels, found, folder):
    figure = plt.figure(figsize=(9, 3.6))
    left = figure.add_subplot(1, 2, 1)
    drawing.curve(left, losses, "loss of the batch", color="tab:blue", linewidth=0.8)
    left.set_yscale("log")
    right = left.twinx()
    drawing.curve(right, accuracies, "held-out accuracy", color="tab:orange")
    lines = left.get_lines() + right.get_lines()
    left.legend(lines, [line.get_label() for line in lines], loc="center right", fontsize=7)
    wrong = np.flatnonzero(found != labels)[:12]
    for place, index in enumerate(wrong):
        axes = figure.add_subplot(3, 8, 8 * (place // 4) + place % 4 + 5)
        axes.imshow(images[index], cmap="gray_r")
        axes.set_title(f"{labels[index]} as {found[index]}", fontsize=7)
        axes.axis("off")
    drawing.write(figure, folder, "flax_digits")


def main():
    args = drawing.options(__doc__.partition("\n")[0], 600).parse_args()
    (images, labels), (held_out, wanted) = load()
    key, rng = jax.random.key(0), np.random.default_rng(0)
    state = create(key, args.steps)
    losses, accuracies = [], []
    for i in range(args.steps):
        chosen = rng.integers(0, len(labels), BATCH)
        state, loss = step(state, jax.random.fold_in(key, i), images[chosen], labels[chosen])
        losses.append((i, float(loss)))
        if i % 50 == 49 or i == args.steps - 1:
            accuracies.append((i, float((predict(state, held_out) == wanted).mean())))
            print(f"step {i + 1}: loss {loss:.4f}, held-out accuracy {accuracies[-1][1]:.4f}")
    draw(losses, accuracies, held_out, wanted, np.asarray(predict(state, held_out)), args.out)
    print(losses[0][1], losses[-1][1], accuracies[-1][1])


if __name__ == "__main__":
    main()
