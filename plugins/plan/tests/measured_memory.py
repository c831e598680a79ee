"""Run a step on eight devices; print as JSON the memory that was predicted for all, and what the process
took.
"""

import json
from functools import partial

import numpy as np
import rabbet as rb
from rabbet import numpy as rnp
from rabbet import planning
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

MESH = rb.make_mesh((4, 2), ("data", "model"))


def step(w, x):
    y = rnp.tanh(x)
    z = rnp.cumsum(y, axis=1)
    return w + (z * y).sum(0), z


def status(name):
    """A line of this process's status, in bytes."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def main():
    shapes = (4096,), (4096, 4096)
    places = NamedSharding(MESH, P()), NamedSharding(MESH, P("data", None))
    types = [rb.ShapeDtypeStruct(s, "float32", sharding=p) for s, p in zip(shapes, places, strict=True)]
    predicted = planning.plan(step, *types)
    compiled = rb.jit(step).lower(*types).compile()
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
    main()
