"""Weights in 4 or 2 bits: quantized by channels or by blocks, multiplied by arrays of floats, packed into
bytes.

Example:
  >>> import rabbet.numpy as rnp
  >>> from rabbet.experimental import int4
  >>> w = int4.quantize(rnp.array([[0.7, -3.5], [0.1, 2.0]]))
  >>> w.values.tolist(), int4.matmul(rnp.array([[1.0, 1.0]]), w).round(2).tolist()
  ([[7, -7], [1, 4]], [[0.7999999523162842, -1.5]])
"""

# ruff: noqa: F403 - each module says in __all__ what it gives

from rabbet.extend.functions import public_module as _public_module
from rabbet.experimental.int4.packing import *
from rabbet.experimental.int4.weights import *

_public_module(globals())
