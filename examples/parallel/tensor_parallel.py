"""Tensor parallel: each device has a part of every layer's hidden units, and sees all examples.

    RABBET_NUM_CPU_DEVICES=8 python examples/parallel/tensor_parallel.py
    rabbet plan examples/parallel/tensor_parallel.py --topology v5e:2x4

The first matrix of a layer is cut by columns and the second by rows, so that one sum over devices is enough
for a layer, and one more in the backward pass (Shoeybi and others 2019, "Megatron-LM"). The first layer needs
no gradient of its input: with two layers there are three sums, each of one layer's outputs.
"""

import common
import numpy as np
import rabbet as rb
from rabbet import numpy as rnp
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

AXES = ("model",)
EXAMPLES, WIDTH, HIDDEN, LAYERS = 16, 32, 128, 2


def loss(layers, x):
    for layer in layers:
        x = x + rnp.tanh(x @ layer["up"]) @ layer["down"]
    return (x * x).mean()


def alone(layers, x):
    """One step of gradient descent: the loss, and the new weights."""
    value, gradient = rb.value_and_grad(loss)(layers, x)
    return value, rb.tree.map(lambda w, g: w - 0.1 * g, layers, gradient)


def spread(mesh):
    """The same; the new weights lie as the old ones."""
    weights = rb.tree.map(lambda spec: NamedSharding(mesh, spec), specs()[0])
    return rb.jit(alone, out_shardings=(NamedSharding(mesh, P()), weights))


def arguments():
    draw = np.random.default_rng(0)
    normal = lambda *shape: draw.normal(size=shape).astype("float32")
    layer = lambda: {"up": normal(WIDTH, HIDDEN) / 6, "down": normal(HIDDEN, WIDTH) / 12}
    return [layer() for _ in range(LAYERS)], normal(EXAMPLES, WIDTH)


def specs():
    return [{"up": P(None, "model"), "down": P("model", None)} for _ in range(LAYERS)], P()


def sends(devices):
    """A sum of each layer's outputs, and of the gradients of the inputs of all layers but the first."""
    times = 2 * LAYERS - 1
    return {"all-reduce": (times, times * 4 * EXAMPLES * WIDTH)}


def plan(mesh):
    return spread(mesh), common.types(mesh, arguments(), specs())


if __name__ == "__main__":
    common.main()
