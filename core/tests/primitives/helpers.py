"""What the corners of several families need."""

import numpy as np
from rabbet.testing import driver
from rabbet.testing.draws import device_array


def floats(*values):
    """A float32 array."""
    return device_array(np.array(values, np.float32))


def ints(*values):
    """An int32 array."""
    return device_array(np.array(values, np.int32))


def slope(fn, *args):
    """The derivatives of elementwise ``fn`` at its first argument, by forward mode, as a list."""
    first, *rest = args
    ones = device_array(np.ones(first.shape, np.float32))
    _, (tangent,) = driver.jvp(lambda x: (fn(x, *rest),), (first,), (ones,))
    return np.asarray(tangent).tolist()


def gradient(fn, x):
    """The gradient of the sum of ``fn(x)``, by reverse mode, as a list."""
    (out,), pull = driver.vjp(lambda y: (fn(y),), x)
    return np.asarray(pull((device_array(np.ones(out.shape, np.float32)),))[0]).tolist()
