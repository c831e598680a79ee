"""Run a program on some of eight devices; print as JSON the memory that was predicted for all of them, and
what the process took.
"""

import ctypes
import gc
import json
import sys
from functools import partial

import numpy as np
import rabbet as rb
from rabbet import lax, nn, planning
from rabbet import numpy as rnp
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


def convolved(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def attention(x):
    weights = nn.softmax(rnp.einsum("bij,bkj->bik", x, x))
    return rnp.einsum("bik,bkj->bij", weights, x)


def scanned(x):
    return lax.scan(lambda c, _: (rnp.sin(c) * 1.01, c.sum()), x, None, length=8)


def two_layers(v, w, x):
    return rb.grad(lambda v, w: rnp.tanh(x @ v @ w).sum(), (0, 1))(v, w)


ALL = P(AXES)
IMAGES = [((64, 64, 64, 64), ALL), ((3, 3, 64, 64), P())]
WIDE = (4096, 1024)
MATRIX, BATCH = ((4096, 4096), ALL), ((64, 512, 512), ALL)
# A function, the shapes of its arguments and their specs, and the mesh.
PROGRAMS = {
    "step": (step, [((4096,), P()), ((4096, 4096), P("data", None))], (4, 2)),
    "reduced": (reduced, [((4096, 1024), P()), ((1024, 4096), P())], (1, 1)),
    "together": (together, [((512, 256), P(AXES))], (4, 2)),
    "gradients of two layers": (two_layers, [(WIDE[::-1], P()), (WIDE, P()), (WIDE, ALL)], (4, 2)),
    "a Fourier transform": (lambda x: rnp.fft.fft(x).real, [MATRIX], (4, 2)),
    "two transforms": (lambda x: rnp.abs(rnp.fft.ifft2(rnp.fft.fft2(x) * 0.5)), [BATCH], (4, 2)),
    "x.T @ x": (lambda x: x.T @ x, [((16384, 1024), ALL)], (4, 2)),
    "a convolution": (convolved, IMAGES, (4, 2)),
    "its gradient": (rb.grad(lambda x, w: rnp.sin(convolved(x, w)).sum(), (0, 1)), IMAGES, (4, 2)),
    "attention": (attention, [((32, 1024, 128), ALL)], (4, 2)),
    "a sort": (lambda x: rnp.sort(x, axis=1), [MATRIX], (4, 2)),
    "a running sum of exponentials": (lambda x: rnp.cumsum(rnp.exp(x), axis=1) * x, [MATRIX], (4, 2)),
    "products in a batch": (lambda a, b: (a @ b) * 2, [BATCH, BATCH], (4, 2)),
    "a scan": (scanned, [MATRIX], (4, 2)),
    "a product that is summed up": (reduced, [((8192, 1024), ALL), ((1024, 4096), P())], (4, 2)),
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
    arrays = made(types)
    # What was freed before stays with the process, and would be used again without being seen.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = status("VmRSS")
    reset_peak()
    rb.block_until_ready(compiled(*arrays))
    measured = status("VmHWM") - before + predicted.memory.arguments * predicted.devices
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
