"""Train a two-layer network on 1,797 real handwritten digits of 8x8 pixels, which scikit-learn ships.

    python examples/digits/train.py [--epochs 40] [--out examples/digits/out]

Shows the three transformations in the places where a training program wants them: `jit(value_and_grad)` for
the step, with the old parameters donated to the new ones; `vmap(grad)` for the gradient norm of every
single example, which finds the images that the network finds hard; and `vmap` of a one-image model for
everything that is done by the batch.
"""
# scikit-learn and Matplotlib have types in part only:
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import argparse
import pathlib
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import numpy.typing as npt
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.typing import ArrayLike
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_digits

matplotlib.use("Agg")  # before pyplot is imported, so that no display is needed
import matplotlib.pyplot as plt

PIXELS, HIDDEN, CLASSES = 64, 256, 10
BATCH = 64

Params = dict[str, rb.Array]
Host = npt.NDArray[Any]  # an array in the memory of the host
Data = tuple[Host, Host]  # images and their labels


class Adam(NamedTuple):
    """The optimizer's state: a step count, and running means of the gradient and of its square."""

    steps: rb.Array
    mean: Params
    square: Params


def load() -> tuple[Data, Data]:
    """Images as rows of 64 floats in 0..1, labels as integers; a fifth of them, drawn once, is held out."""
    digits: Any = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    images = (digits.data[order] / 16).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    held_out = len(labels) // 5
    return (images[held_out:], labels[held_out:]), (images[:held_out], labels[:held_out])


def init(key: rb.Array) -> Params:
    """Weights scaled so that both layers' outputs start with a variance near one; biases zero."""
    first, second = rb.random.split(key)
    return {
        "w1": rb.random.normal(first, (PIXELS, HIDDEN)) * np.sqrt(2 / PIXELS),
        "b1": rnp.zeros(HIDDEN),
        "w2": rb.random.normal(second, (HIDDEN, CLASSES)) * np.sqrt(1 / HIDDEN),
        "b2": rnp.zeros(CLASSES),
    }


def scores(params: Params, image: rb.Array) -> rb.Array:
    """Ten scores for one image."""
    hidden = rb.nn.relu(image @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def example_loss(params: Params, image: rb.Array, label: rb.Array) -> rb.Array:
    """Cross-entropy of one image, with a little weight decay."""
    decay = 1e-4 * (rnp.sum(params["w1"] ** 2) + rnp.sum(params["w2"] ** 2))
    return decay - rb.nn.log_softmax(scores(params, image))[label]


def loss(params: Params, images: rb.Array, labels: rb.Array) -> rb.Array:
    """Mean loss of a batch."""
    return rnp.mean(rb.vmap(example_loss, in_axes=(None, 0, 0))(params, images, labels))


def adam(
    grads: Params, state: Adam, params: Params, rate: float = 2e-3, b1: float = 0.9, b2: float = 0.999
) -> tuple[Params, Adam]:
    """One step of Adam, by hand: (new parameters, new state)."""
    steps = state.steps + 1

    def blend(m: rb.Array, g: rb.Array) -> rb.Array:
        return b1 * m + (1 - b1) * g

    def blend_square(s: rb.Array, g: rb.Array) -> rb.Array:
        return b2 * s + (1 - b2) * g * g

    mean = rb.tree.map(blend, state.mean, grads)
    square = rb.tree.map(blend_square, state.square, grads)

    def update(p: rb.Array, m: rb.Array, s: rb.Array) -> rb.Array:
        return p - rate * (m / (1 - b1**steps)) / (rnp.sqrt(s / (1 - b2**steps)) + 1e-8)

    return rb.tree.map(update, params, mean, square), Adam(steps, mean, square)


@partial(rb.jit, donate_argnums=(0, 1))
def step(
    params: Params, state: Adam, images: ArrayLike, labels: ArrayLike
) -> tuple[Params, Adam, rb.Array]:
    """One training step. The old parameters and state are donated: their memory becomes the new ones'."""
    value, grads = rb.value_and_grad(loss)(params, images, labels)
    params, state = adam(grads, state, params)
    return params, state, value


@rb.jit
def predict(params: Params, images: ArrayLike) -> rb.Array:
    """The most likely digit of each image."""
    return rnp.argmax(rb.vmap(scores, in_axes=(None, 0))(params, images), axis=-1)


@rb.jit
def gradient_norms(params: Params, images: ArrayLike, labels: ArrayLike) -> rb.Array:
    """For each image, the length of the gradient that it alone would give: large where the network errs."""
    grads = rb.vmap(rb.grad(example_loss), in_axes=(None, 0, 0))(params, images, labels)
    squares = [rnp.sum(g.reshape(len(g), -1) ** 2, axis=1) for g in rb.tree.leaves(grads)]
    return rnp.sqrt(sum(squares))


def batches(key: rb.Array, images: Host, labels: Host) -> Iterator[Data]:
    """The data in a new order, in batches of one size: a smaller last one would compile a second program."""
    order = np.asarray(rb.random.permutation(key, len(labels)))
    for start in range(0, len(labels) - BATCH + 1, BATCH):
        rows = order[start : start + BATCH]
        yield images[rows], labels[rows]


def train(
    epochs: int, key: rb.Array, train_data: Data, test_data: Data, console: Console
) -> tuple[Params, list[float], list[float]]:
    """Train, showing a bar; returns parameters, the loss of each step, the accuracy of each epoch."""
    init_key, key = rb.random.split(key)
    params = init(init_key)
    zeros = rb.tree.map(rnp.zeros_like, params)
    state = Adam(rnp.zeros(()), zeros, rb.tree.map(rnp.zeros_like, params))
    losses: list[rb.Array] = []
    accuracies: list[float] = []
    columns = [
        TextColumn("epoch"),
        MofNCompleteColumn(),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[said]}"),
    ]
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("training", total=epochs, said="compiling")
        for epoch in range(epochs):
            for images, labels in batches(rb.random.fold_in(key, epoch), *train_data):
                params, state, value = step(params, state, images, labels)
                losses.append(value)  # stays on the device: reading it here would wait for every step
            accuracies.append(accuracy(params, *test_data))
            bar.update(
                task, advance=1, said=f"loss {float(losses[-1]):.4f}, held-out accuracy {accuracies[-1]:.2%}"
            )
    return params, [float(value) for value in losses], accuracies


def accuracy(params: Params, images: Host, labels: Host) -> float:
    """Share of the images that are recognised."""
    return float(np.mean(np.asarray(predict(params, images)) == labels))


def picture(
    path: pathlib.Path, losses: list[float], accuracies: list[float], images: Host, labels: Host,
    guesses: Host, norms: Host,
) -> None:  # fmt: skip
    """Loss curve and accuracy above; below, the misread digits, hardest first, with what they were taken
    for."""
    wrong = np.flatnonzero(guesses != labels)
    wrong = wrong[np.argsort(-norms[wrong])][:12]
    figure: Any = plt.figure(figsize=(9, 6), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[3, 2])
    left, right = above.subplots(1, 2)
    left.plot(losses, linewidth=0.8)
    left.set(title="training loss", xlabel="step", yscale="log")
    right.plot(range(1, len(accuracies) + 1), accuracies)
    right.set(title=f"held-out accuracy: {accuracies[-1]:.2%}", xlabel="epoch", ylim=(0.7, 1))
    below.suptitle(f"{np.sum(guesses != labels)} of {len(labels)} held-out digits are misread", fontsize=10)
    for axes in (grid := below.subplots(2, 6)).flat:
        axes.axis("off")
    for axes, i in zip(grid.flat, wrong):
        axes.imshow(images[i].reshape(8, 8), cmap="gray_r")
        axes.set_title(f"{labels[i]} taken for {guesses[i]}\ngradient {norms[i]:.1f}", fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> tuple[float, pathlib.Path]:
    """Train, report, draw; returns the held-out accuracy and the picture's path."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "out")
    options = parser.parse_args(arguments)
    console = Console()

    train_data, test_data = load()
    started = time.perf_counter()
    params, losses, accuracies = train(
        options.epochs, rb.random.key(options.seed), train_data, test_data, console
    )
    seconds = time.perf_counter() - started

    images, labels = test_data
    guesses = np.asarray(predict(params, images))
    norms = np.asarray(gradient_norms(params, images, labels))
    right = guesses == labels
    path = (options.out / "digits.png").resolve()
    picture(path, losses, accuracies, images, labels, guesses, norms)
    console.print(
        f"{len(losses)} steps in {seconds:.1f} s; "
        f"{right.sum()} of {len(labels)} held-out digits read: {right.mean():.2%}"
    )
    console.print(
        f"median gradient norm: {np.median(norms[right]):.3f} where right"
        + (f", {np.median(norms[~right]):.3f} where wrong" if not right.all() else "")
    )
    console.print(f"picture: {path}", soft_wrap=True)
    return float(right.mean()), path


if __name__ == "__main__":
    main()
