"""Integers of 4 and 2 bits: ``int4``, ``uint4``, ``int2`` and ``uint2``, one ``DTypeSpec`` each.

They do not promote with other integers or floats, as in JAX; Python integers and booleans give way to them.
Additions and products wrap around. Backends keep two or four of them in a byte where they can.
"""

from functools import partial

import ml_dtypes
from rabbet.extend.dtype import DTypeSpec


def _integer(name, mlir, bits):
    scalar = getattr(ml_dtypes, name)
    return DTypeSpec(
        name, scalar, mlir, name[0], above=("int*",), finfo=partial(ml_dtypes.iinfo, scalar), bits=bits,
        compute="int32" if name[0] == "i" else "uint32",
    )  # fmt: skip


INT2 = _integer("int2", "i2", 2)
INT4 = _integer("int4", "i4", 4)
UINT2 = _integer("uint2", "ui2", 2)
UINT4 = _integer("uint4", "ui4", 4)

__all__ = ["INT2", "INT4", "UINT2", "UINT4"]
