"""Data parallel: each device has all weights and a part of the examples; gradients are summed over devices.

    RABBET_NUM_CPU_DEVICES=8 python examples/parallel/data_parallel.py
    rabbet plan examples/parallel/data_parallel.py --topology v5e:2x4

The step is written for one device. That the examples are cut over `data` says everything else.
"""

import common
import numpy as np
import rabbet as rb
from rabbet import numpy as rnp
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

AXES = ("data",)
EXAMPLES, WIDTH, HIDDEN = 64, 32, 128


def loss(weights, x, y):
    return ((rnp.tanh(x @ weights["up"]) @ weights["down"] - y) ** 2).mean()


def alone(weights, x, y):
    """One step of gradient descent: the loss, and the new weights."""
    value, gradient = rb.value_and_grad(loss)(weights, x, y)
    return value, rb.tree.map(lambda w, g: w - 0.1 * g, weights, gradient)


def spread(mesh):
    """The same; the results are asked to be whole on each device."""
    return rb.jit(alone, out_shardings=NamedSharding(mesh, P()))


def arguments():
    draw = np.random.default_rng(0)
    normal = lambda *shape: draw.normal(size=shape).astype("float32")
    weights = {"up": normal(WIDTH, HIDDEN) / 6, "down": normal(HIDDEN, WIDTH) / 12}
    return weights, normal(EXAMPLES, WIDTH), normal(EXAMPLES, WIDTH)


def specs():
    return {"up": P(), "down": P()}, P("data"), P("data")


def sends(devices):
    """One sum over devices: the gradient of each weight, and the loss."""
    return {"all-reduce": (1, 4 * (2 * WIDTH * HIDDEN + 1))}


def plan(mesh):
    return spread(mesh), common.types(mesh, arguments(), specs())


if __name__ == "__main__":
    common.main()
