"""Run a program on some of eight devices; print as JSON the memory that was predicted for all of them, and
what the process took.
"""

import json
import sys
from functools import partial

import numpy as np
import rabbet as rb
from rabbet import numpy as rnp
from rabbet import planning
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

AXES = ("data", "model")


def step(w, x):
    y = rnp.tanh(x)
    z = rnp.cumsum(y, axis=1)
    return w + (z * y).sum(0), z


def reduced(x, w):
    return (x @ w).sum(1)


def together(x):  # each device waits for the others while its temporary memory is in use
    y = rnp.exp(x[:, :, None] * x[:, None, :])
    return (y * (1 + y.sum())).sum(1)


# A function, the shapes of its arguments and their specs, and the mesh.
PROGRAMS = {
    "step": (step, [((4096,), P()), ((4096, 4096), P("data", None))], (4, 2)),
    "reduced": (reduced, [((4096, 1024), P()), ((1024, 4096), P())], (1, 1)),
    "together": (together, [((512, 256), P(AXES))], (4, 2)),
}


def status(name):
    """A line of this process's status, in bytes."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def main(name):
    function, arguments, shape = PROGRAMS[name]
    mesh = rb.make_mesh(shape, AXES, devices=rb.devices()[: np.prod(shape)])
    types = [rb.ShapeDtypeStruct(s, "float32", sharding=NamedSharding(mesh, spec)) for s, spec in arguments]
    predicted = planning.plan(function, *types)
    compiled = rb.jit(function).lower(*types).compile()
    made(types)  # the first transfer leaves a buffer of jaxlib's own behind
    before = status("VmRSS")
    reset_peak()
    rb.block_until_ready(compiled(*made(types)))
    measured = status("VmHWM") - before
    memory = predicted.memory.needed * predicted.devices
    print(json.dumps({"devices": predicted.devices, "predicted": memory, "measured": measured}))


def made(types):
    """Arrays of ones."""
    return [rb.make_array_from_callback(t.shape, t.sharding, partial(filled, t.shape)) for t in types]


def filled(shape, index):
    """The part of an array of ones that a device has."""
    return np.ones([len(range(*i.indices(n))) for i, n in zip(index, shape, strict=True)], np.float32)


if __name__ == "__main__":
    main(sys.argv[1])
