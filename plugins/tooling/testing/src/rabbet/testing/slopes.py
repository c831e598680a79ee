"""Derivatives of elementwise functions as lists of numbers, for the corners that rows do not reach."""

import numpy as np

from rabbet import lax
from rabbet.testing import driver
from rabbet.testing.draws import device_array


def slope(fn, *args):
    """The derivatives of elementwise ``fn`` at its first argument, by forward mode, as a list."""
    ones = device_array(np.ones(args[0].shape, np.float32))

    def push(first, direction, *rest):
        return driver.jvp(lambda x: (fn(x, *rest),), (first,), (direction,))[1]

    (tangent,) = driver.jit(push)(args[0], ones, *args[1:])
    return np.asarray(tangent).tolist()


def gradient(fn, x):
    """The gradient of the sum of ``fn(x)``, by reverse mode, as a list."""

    def pull_back(y):
        (out,), pull = driver.vjp(lambda z: (fn(z),), y)
        return pull((lax.full_like(out, 1),))

    (result,) = driver.jit(pull_back)(x)
    return np.asarray(result).tolist()
