"""Floats of 8, 6 and 4 bits: one ``DTypeSpec`` each, with the facts of its format.

None of them promotes: beside an array of another dtype it is an error, and only Python numbers and integers
give way to them, as in JAX. Backends that store such a format but cannot calculate in it calculate in
float32 and round each result. The formats are those of the Open Compute Project's specifications (OFP8 and
Microscaling, 2023) and of hardware makers, as the package ml_dtypes has them:

- ``fn``: no infinities; ``uz``: one zero, and NaN in the place of minus zero; ``b11``: another exponent bias;
- ``float8_e8m0fnu`` holds powers of two alone, the scales of blocks: no zero and no negative numbers;
- ``float4_e2m1fn`` and the two of 6 bits have neither infinities nor NaN, so a conversion to them saturates.

XLA has no floats of 6 bits: devices store them as bytes, and programs decode and encode these.
"""

from functools import partial

import ml_dtypes
from rabbet.extend.dtype import DTypeSpec


def _format(name, mlir, *, infinities=False, nan=True, negative_zero=True, zero=True, bits=None, codes=None):
    scalar = getattr(ml_dtypes, name)
    return DTypeSpec(
        name, scalar, mlir, "f", above=("float*",), finfo=partial(ml_dtypes.finfo, scalar), compute="float32",
        bits=bits, infinities=infinities, nan=nan, negative_zero=negative_zero, zero=zero,
        codes=codes,
    )  # fmt: skip


FLOAT8_E3M4 = _format("float8_e3m4", "f8E3M4", infinities=True)
FLOAT8_E4M3 = _format("float8_e4m3", "f8E4M3", infinities=True)
FLOAT8_E4M3B11FNUZ = _format("float8_e4m3b11fnuz", "f8E4M3B11FNUZ", negative_zero=False)
FLOAT8_E4M3FN = _format("float8_e4m3fn", "f8E4M3FN")
FLOAT8_E4M3FNUZ = _format("float8_e4m3fnuz", "f8E4M3FNUZ", negative_zero=False)
FLOAT8_E5M2 = _format("float8_e5m2", "f8E5M2", infinities=True)
FLOAT8_E5M2FNUZ = _format("float8_e5m2fnuz", "f8E5M2FNUZ", negative_zero=False)
FLOAT8_E8M0FNU = _format("float8_e8m0fnu", "f8E8M0FNU", negative_zero=False, zero=False)
FLOAT6_E2M3FN = _format("float6_e2m3fn", None, nan=False, bits=6, codes="uint8")
FLOAT6_E3M2FN = _format("float6_e3m2fn", None, nan=False, bits=6, codes="uint8")
FLOAT4_E2M1FN = _format("float4_e2m1fn", "f4E2M1FN", nan=False, bits=4)

__all__ = [
    "FLOAT4_E2M1FN",
    "FLOAT6_E2M3FN",
    "FLOAT6_E3M2FN",
    "FLOAT8_E3M4",
    "FLOAT8_E4M3",
    "FLOAT8_E4M3B11FNUZ",
    "FLOAT8_E4M3FN",
    "FLOAT8_E4M3FNUZ",
    "FLOAT8_E5M2",
    "FLOAT8_E5M2FNUZ",
    "FLOAT8_E8M0FNU",
]
