"""What the corners of several families need."""

import numpy as np
from rabbet.testing.draws import device_array, floats  # noqa: F401
from rabbet.testing.slopes import gradient, slope  # noqa: F401


def ints(*values):
    """An int32 array."""
    return device_array(np.array(values, np.int32))
