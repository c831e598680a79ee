"""Calculating with floats of 8 and 4 bits: scales, rounding, block formats and products.

The formats themselves are dtypes of the package ``rabbet_float8`` and need no import:
``x.astype("float8_e4m3fn")``. A number of so few bits needs a scale, which brings the numbers of an array
into the format's range; this module finds scales, for whole arrays and for blocks, and multiplies what they
belong to.

Example:
  >>> import rabbet.numpy as rnp
  >>> from rabbet.experimental import float8
  >>> small = float8.quantize(rnp.array([0.001, -0.004]))
  >>> small.values.dtype.name, float8.dequantize(small).round(4).tolist()
  ('float8_e4m3fn', [0.0010000000474974513, -0.004000000189989805])
"""

# ruff: noqa: F403 - each module says in __all__ what it gives

from rabbet.extend.functions import public_module as _public_module
from rabbet.experimental.float8.blocks import *
from rabbet.experimental.float8.products import *
from rabbet.experimental.float8.rounding import *
from rabbet.experimental.float8.scaling import *

_public_module(globals())
