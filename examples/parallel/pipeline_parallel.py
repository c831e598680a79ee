"""Pipeline parallel: each device has one layer, and a batch goes through them in small parts.

    RABBET_NUM_CPU_DEVICES=8 python examples/parallel/pipeline_parallel.py
    rabbet plan examples/parallel/pipeline_parallel.py --topology v5e:2x4

In each turn every device does its layer on the part that it has and hands it to the next device. With n
devices and m parts it takes m + n - 1 turns (Huang and others 2018, "GPipe"); the gradient takes the same
turns backwards, which `grad` of the loop does by itself.
"""

import common
import numpy as np
import rabbet as rb
from rabbet import lax
from rabbet import numpy as rnp
from rabbet.sharding import PartitionSpec as P

AXES = ("stage",)
LAYERS, PARTS, EXAMPLES, WIDTH = 8, 4, 4, 16


def layer(weights, x):
    return x + rnp.tanh(x @ weights)


def alone(weights, x):
    """The loss and its gradient; `weights` of all layers, `x` in parts."""

    def loss(weights, x):
        x, _ = lax.scan(lambda x, w: (layer(w, x), None), x, weights)
        return (x * x).mean()

    return rb.value_and_grad(loss)(weights, x)


def pipeline(weights, x, axis):
    """What comes out of the last device, in its turns; elsewhere zeros.

    Args:
      weights: of this device's layer.
      x: parts, on all devices; the first device reads them.
    """
    devices, here = lax.axis_size(axis), lax.axis_index(axis)
    onwards = [(i, i + 1) for i in range(devices - 1)]
    waiting = rnp.concatenate([x, rnp.zeros((devices - 1, *x.shape[1:]), x.dtype)])

    def turn(received, part):
        out = layer(weights, rnp.where(here == 0, part, received))
        return lax.ppermute(out, axis, onwards), out

    _, outs = lax.scan(turn, rnp.zeros_like(x[0]), waiting)
    return rnp.where(here == devices - 1, outs[devices - 1 :], 0.0)


def spread(mesh):
    """The same over a mesh, a layer for each device."""

    def step(weights, x):
        def loss(weights, x):
            out = pipeline(weights[0], x, "stage")
            return lax.psum((out * out).sum(), "stage") / out.size

        return rb.value_and_grad(loss)(weights, x)

    return rb.jit(rb.shard_map(step, mesh=mesh, in_specs=(P("stage"), P()), out_specs=(P(), P("stage"))))


def arguments():
    draw = np.random.default_rng(0)
    weights = draw.normal(size=(LAYERS, WIDTH, WIDTH)).astype("float32") / 8
    return weights, draw.normal(size=(PARTS, EXAMPLES, WIDTH)).astype("float32")


def specs():
    return P("stage"), P()


def sends(devices):
    """Each turn a part goes on, and its gradient back; the loss is summed."""
    times = 2 * (PARTS + devices - 1)
    return {"collective-permute": (times, times * 4 * EXAMPLES * WIDTH), "all-reduce": (1, 4)}


def plan(mesh):
    return spread(mesh), common.types(mesh, arguments(), specs())


if __name__ == "__main__":
    common.main()
