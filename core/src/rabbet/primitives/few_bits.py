"""Numbers of few bits, where the compiler cannot calculate in them: as what holds them exactly.

Core's rules for ``lower`` ask here; formats of 8 bits and more that a backend knows go their usual way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.primitives import convert
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.typing import DType

BYTES = {"i": np.dtype("int8"), "u": np.dtype("uint8")}


def less_than_a_byte(dtype: DType) -> bool:
    """Whether several numbers fit into a byte; not those of ``float0``, which are stored as booleans.

    Example:
      >>> from rabbet.extend.rules import less_than_a_byte
      >>> less_than_a_byte(np.dtype("int8"))
      False
    """
    return 0 < dtypes.itemsize_bits(dtype) < 8


def wider(dtype: Any) -> Any:
    """A dtype of at least a byte that holds all numbers of ``dtype``."""
    return BYTES.get(dtypes.kind(dtype)) or np.dtype(dtypes.spec(dtype).compute or "float32")


def in_wider(op: Site, names: Any) -> Any:
    """Write an equation on operands of a wider dtype, and its results converted back.

    Args:
      op: the lowering site; its operands and results of few bits have one dtype.
      names: the operands.

    Returns:
      the names of the results.

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> from rabbet.extend.rules import in_wider, less_than_a_byte
      >>> twice = Primitive("twice_in_wider", lambda x: x)
      >>> @twice.rule("lower")
      ... def lower_twice(op, x):
      ...     if less_than_a_byte(op.out.dtype):
      ...         return in_wider(op, [x])[0]
      ...     return op.emit(f"stablehlo.add {x}, {x} : {op.out.mlir}")
      >>> twice(np.float32(2))
      Array(4., dtype=float32)
    """
    narrow = op.in_avals[0].dtype
    to_dtype = convert.to_dtype

    def parts(*arrays: Any) -> Any:
        given = [to_dtype(x, wider(narrow)) if a.dtype == narrow else x for x, a in zip(arrays, op.in_avals)]
        out = op.primitive(*given, **op.params)
        outs = out if op.primitive.multiple_results else [out]
        return [to_dtype(y, a.dtype) for y, a in zip(outs, op.out_avals, strict=True)]

    return op.inline(stage(parts, op.in_avals, op.primitive.name).jaxpr, names)
