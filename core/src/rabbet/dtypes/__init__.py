"""Dtypes: which are known, what they are called, and what two of them promote to.

Promotion is JAX's. Python numbers are *weak*: they have a kind (int, float, complex) but no width, and
give way to the other operand's dtype. In the order of dtypes they are ``int*``, ``float*`` and
``complex*``::

    bool < int* < int8..64, uint8..64 < float* < float16, bfloat16 < float32 < float64   (complex likewise)

Widths: a Python number alone becomes 32 bits wide, and so does a NumPy *value* of 64 bits, because NumPy
makes those unasked. A dtype that someone wrote down, as in ``dtype="float64"``, is kept. With
``config.enable_x64`` nothing is narrowed.

The functions here answer from the table of the process; ``dtype_table`` says how it works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes  # NumPy knows its types by their names from here on
import numpy as np

from rabbet.config import config
from rabbet.dtypes import host_formats
from rabbet.dtypes.specs import (
    DEFAULTS,
    DTypeSpec,
    extended,
    ExtendedDType,
    float0,
    prng_key,
    PYTHON,
    RANKS,
    SCALARS,
)
from rabbet.dtypes.narrowing import narrowed
from rabbet.dtypes.process_table import table
from rabbet.dtypes.table import DTypeTable
from rabbet.errors import TypePromotionError

__passes_operations_on__ = True

__all__ = [
    "DTypeSpec", "DTypeTable", "ExtendedDType", "TypePromotionError", "add", "canonicalize",
    "canonicalize_dtype", "codes", "extended", "find", "finfo", "float0",
    "has_own_format", "host_cast", "iinfo", "inexact", "issubdtype",
    "itemsize_bits", "kind", "kind_rank", "mlir_name", "names", "narrow", "numpy_scalar", "prng_key",
    "promote", "promote_types", "requested", "result_type", "scalar_dtype", "scalar_type_of",
    "short_name", "spec",
    "to_complex", "to_inexact", "wide_scalars",
]  # fmt: skip

inexact = np.inexact

add = table.add
find = table.find
spec = table.spec
canonicalize = table.canonicalize
codes = table.codes
requested = table.requested
kind = table.kind
names = table.names
mlir_name = table.mlir_name
short_name = table.short_name
itemsize_bits = table.itemsize_bits
narrow = table.narrow
promote = table.promote
promote_types = table.promote_types
result_type = table.result_type
issubdtype = table.issubdtype
finfo = table.finfo
iinfo = table.iinfo
to_inexact = table.to_inexact
to_complex = table.to_complex


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that ``dtype`` means; None means the default float. One that is written out, such as float64,
    means itself, or 32 bits where ``config.explicit_x64_dtypes`` does not allow 64.

    Raises:
      TypeError: for what no installed package knows. ValueError: for a dtype without numbers, such as that of
        keys, unless ``allow_extended_dtype`` is True.

    Example:
      >>> rb.dtypes.canonicalize_dtype(np.float64)
      dtype('float64')
    """
    found = canonicalize(float if dtype is None else dtype)
    if isinstance(found, ExtendedDType) and not allow_extended_dtype:
        raise ValueError(f"canonicalize_dtype: {found} has no numbers; allow_extended_dtype=True accepts it")
    return found if config.explicit_x64_dtypes == "allow" else narrow(found)


def use_finder(
    find_spec: Callable[[str], Any], installed_names: Callable[[], Any], refuse: Callable[[str, Any], Any]
) -> None:
    """Name the function that returns the DTypeSpec of an unknown name, or None; what lists the names that
    there are; and who is told of a name whose row does not fit to the others. Called once, by composition.
    """
    table.find_spec, table.installed_names, table.refuse = find_spec, installed_names, refuse


# Python scalars -----------------------------------------------------------------------------------


def wide_scalars() -> bool:
    """Whether Python numbers and NumPy values keep 64 bits: ``config.enable_x64``.

    Example:
      >>> rb.dtypes.wide_scalars()
      False
    """
    return config.enable_x64


def scalar_dtype(scalar_type: type) -> np.dtype:
    """The dtype of a Python number of this type: ``int`` is int32, with ``config.enable_x64`` int64.

    Example:
      >>> rb.dtypes.scalar_dtype(int)
      dtype('int32')
    """
    return DEFAULTS[config.enable_x64][scalar_type]


def scalar_type_of(x: Any) -> type:
    """The Python type (bool, int, float or complex) of the kind of a value or dtype.

    Example:
      >>> rb.dtypes.scalar_type_of(np.float32(1))
      <class 'float'>
    """
    for scalar in PYTHON:  # bool first: it is an int too
        if isinstance(x, scalar) or x is scalar:
            return scalar
    kind_of = kind(x)
    if kind_of not in SCALARS:
        raise TypeError(f"{short_name(x)} has no Python scalar type")
    return SCALARS[kind_of]


def kind_rank(x: Any) -> int:
    """Where a dtype, or a Python type, stands among the kinds: bool 0, integers 1, floats 2, complex 3,
    others 4.

    Example:
      >>> rb.dtypes.kind_rank(float), rb.dtypes.kind_rank(np.dtype("int8"))
      (2, 1)
    """
    return RANKS[PYTHON[x] if isinstance(x, type) and x in PYTHON else kind(x)]


def numpy_scalar(value: Any, dtype: Any) -> Any:
    """A Python number as a NumPy array of rank 0.

    Raises:
      OverflowError: for an int or a float that does not fit an integer ``dtype``.
      ValueError: for a NaN and an integer ``dtype``.

    Example:
      >>> rb.dtypes.numpy_scalar(2.5, np.dtype("float16"))
      array(2.5, dtype=float16)
    """
    dtype = canonicalize(dtype)
    if (isinstance(value, int) or type(value) is float) and kind(dtype) in "iu":
        info = iinfo(dtype)
        if value != value:
            raise ValueError(f"NaN does not fit {dtype.name}, which has no number for it")
        if not info.min - 1 < value < info.max + 1:  # of a float the fraction is cut off
            wide = "uint64" if 2**63 <= value < 2**64 else "int64" if abs(value) < 2**63 else "float64"
            raise OverflowError(
                f"the Python {type(value).__name__} {value} does not fit {dtype.name} (from {info.min} to "
                f"{info.max})\n  ask for a wider dtype, as in array({value}, dtype={wide!r})"
            )
    if isinstance(value, complex) and kind(dtype) in "fiu":
        raise TypeError(f"the Python complex {value} has two parts, {dtype.name} holds one; take value.real")
    host = np.asarray(value)
    return narrowed(host, dtype) if host.dtype.kind == "f" else host_cast(host, dtype)


def host_cast(host: np.ndarray, dtype: Any) -> np.ndarray:
    """A NumPy array in another dtype, as ``host.astype(dtype)``; formats that NumPy does not know go by their
    own ``encode`` and ``decode``.

    Example:
      >>> rb.dtypes.host_cast(np.float32([1.5, -2]), np.dtype("int8"))
      array([ 1, -2], dtype=int8)
    """
    return host_formats.cast(host, dtype, table.rows)


def has_own_format(dtype: Any) -> bool:
    """Whether a NumPy dtype has an ``encode`` and ``decode`` of its own, so that NumPy cannot read it.

    Example:
      >>> rb.dtypes.has_own_format(np.dtype("float32"))
      False
    """
    return host_formats.own_format(dtype, table.rows) is not None


def __getattr__(name: str) -> Any:
    """Scalar types by name, also those of plugins: ``dtypes.float32``, ``dtypes.bfloat16``."""
    row = None if name.startswith("_") else table.find(name)
    if row is None:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}, and no plugin has a dtype of that name"
        )
    return row.dtype.type


def __dir__() -> list[str]:
    return sorted(__all__)
