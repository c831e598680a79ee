"""Formats of few bits, for tests of packages that do not require those that bring them."""

from functools import partial
from typing import Any

import ml_dtypes

from rabbet import dtypes
from rabbet.extend.dtype import DTypeSpec

FEW_BITS: dict[str, Any] = {
    spec.name: spec
    for spec in (
        DTypeSpec(
            "float8_e4m3fn", ml_dtypes.float8_e4m3fn, "f8E4M3FN", "f", above=("float*",), infinities=False,
            finfo=partial(ml_dtypes.finfo, "float8_e4m3fn"), compute="float32",
        ),
        DTypeSpec(
            "float4_e2m1fn", ml_dtypes.float4_e2m1fn, "f4E2M1FN", "f", above=("float*",), infinities=False,
            nan=False, bits=4, finfo=partial(ml_dtypes.finfo, "float4_e2m1fn"), compute="float32",
        ),
        DTypeSpec(
            "int4", ml_dtypes.int4, "i4", "i", above=("int*",), bits=4,
            finfo=partial(ml_dtypes.iinfo, "int4"),
        ),
    )
}  # fmt: skip


def few_bits(name):
    """The dtype of a name in ``FEW_BITS``; its row is added where no installed package has it.

    Example:
      >>> from rabbet.testing.few_bits import few_bits
      >>> few_bits("int4").itemsize
      1
    """
    if dtypes.find(name) is None:
        dtypes.add(FEW_BITS[name])
    return dtypes.canonicalize(name)


__all__ = ["FEW_BITS", "few_bits"]
