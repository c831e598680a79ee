"""Rows of the table of dtypes: what one looks like, those of the core, and their order in promotion.

The core knows bool, the integers of 8 to 64 bits, float16 to float64 and the two complex dtypes. A plugin's
dtype is a row too, a ``DTypeSpec``. Dtypes that NumPy cannot store, such as those of random keys, are
objects of a class of their own, ``ExtendedDType``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

float0 = np.dtype([("float0", np.void, 0)])
"""The dtype of the tangent of an integer: it has no numbers at all."""


class extended(np.generic):
    """Abstract class of the dtypes that NumPy cannot store, for ``issubdtype``."""


class prng_key(extended):
    """Abstract class of the dtypes of random keys: ``issubdtype(key.dtype, dtypes.prng_key)``."""


class ExtendedDType:
    """A dtype of our own making, such as that of random keys. Two of the same class and name are equal.

    An array of it is stored as an array of ``physical_dtype`` with ``physical_shape`` appended to its shape.
    Subclasses set ``type``, an abstract class below ``extended``, for ``issubdtype``.

    Example:
      >>> from rabbet.extend.dtype import ExtendedDType
      >>> class Money(ExtendedDType):
      ...     type = rb.dtypes.extended
      >>> Money("euro", np.dtype("int64"), (2,)) == Money("euro", np.dtype("int64"), (2,))
      True
    """

    type = extended
    kind = "V"

    def __init__(self, name, physical_dtype, physical_shape=()):
        self.name = name
        self.physical_dtype = np.dtype(physical_dtype)
        self.physical_shape = tuple(physical_shape)

    @property
    def itemsize(self):
        """Bytes of one element."""
        return self.physical_dtype.itemsize * int(np.prod(self.physical_shape, dtype=int))

    def __eq__(self, other):
        return type(self) is type(other) and self.name == other.name

    def __hash__(self):
        return hash((type(self), self.name))

    def __repr__(self):
        return self.name


@dataclass(frozen=True)
class DTypeSpec:
    """One row of the table, as a value.

    Args:
      name: the dtype's name, ``"bfloat16"``.
      numpy_dtype: the NumPy dtype or scalar type that stores it.
      mlir: its StableHLO element type, ``"bf16"``.
      kind: ``b`` bool, ``i`` and ``u`` integers, ``f`` float, ``c`` complex, ``V`` none of these.
      above: names of the dtypes that promote to this one directly (``float*`` is a Python float).
      below: names of the dtypes that this one promotes to directly.
      finfo: what ``finfo`` (for an integer: ``iinfo``) answers, or a function that makes it. None:
      NumPy's answer. compute: name of the dtype to calculate in where a backend stores this one but
      cannot calculate in it. bits: bits of one element, where that is not ``8 * itemsize``.

    Example:
      >>> import ml_dtypes
      >>> from rabbet.extend.dtype import DTypeSpec
      >>> BFLOAT16 = DTypeSpec(
      ...     "bfloat16", ml_dtypes.bfloat16, "bf16", "f", above=("float32",), below=("float*",),
      ...     compute="float32", finfo=lambda: ml_dtypes.finfo(ml_dtypes.bfloat16),
      ... )
      >>> BFLOAT16.mlir
      'bf16'
    """

    name: str
    numpy_dtype: Any
    mlir: str
    kind: str
    above: tuple = ()
    below: tuple = ()
    finfo: Any = None
    compute: str | None = None
    bits: int | None = None

    @property
    def dtype(self):
        """The NumPy dtype."""
        return np.dtype(self.numpy_dtype)


def _core_specs():
    yield DTypeSpec("bool", np.bool_, "i1", "b")
    for bits in (8, 16, 32, 64):
        yield DTypeSpec(f"int{bits}", f"int{bits}", f"i{bits}", "i")
        yield DTypeSpec(f"uint{bits}", f"uint{bits}", f"ui{bits}", "u")
    yield DTypeSpec("float16", np.float16, "f16", "f", compute="float32")
    for bits in (32, 64):
        yield DTypeSpec(f"float{bits}", f"float{bits}", f"f{bits}", "f")
        yield DTypeSpec(f"complex{2 * bits}", f"complex{2 * bits}", f"complex<f{bits}>", "c")


CORE_SPECS = tuple(_core_specs())

# For each name the names directly above it.
CORE_ORDER = {
    "bool": ("int*",),
    "int*": ("int8", "uint8"),
    "uint8": ("uint16", "int16"),
    "uint16": ("uint32", "int32"),
    "uint32": ("uint64", "int64"),
    "uint64": ("float*",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float*",),
    "float*": ("float16", "complex*"),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex*": ("complex64",),
    "complex64": ("complex128",),
    "complex128": (),
}
# While 64 bits are off, no two dtypes of 32 bits may promote to one of 64. Only this pair would.
NARROW_ORDER = {**CORE_ORDER, "uint32": ("int32", "uint64")}

KINDS = {
    "b": np.bool_, "i": np.signedinteger, "u": np.unsignedinteger, "f": np.floating, "c": np.complexfloating,
    "V": np.void,
}  # fmt: skip
ABSTRACT = {
    np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating,
    np.complexfloating,
}  # fmt: skip
WEAK = {"b": "bool", "i": "int*", "u": "int*", "f": "float*", "c": "complex*"}
RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3, "V": 4}
PYTHON = {bool: "b", int: "i", float: "f", complex: "c"}
PYTHON_NAMES = {"int": int, "float": float, "complex": complex}
SCALARS = {kind: scalar for scalar, kind in PYTHON.items()} | {"u": int}

_widths = {32: ("int32", "float32", "complex64"), 64: ("int64", "float64", "complex128")}
DEFAULTS = {
    wide: dict(zip((bool, int, float, complex), map(np.dtype, ("bool", *_widths[64 if wide else 32]))))
    for wide in (False, True)
}
NARROW = {np.dtype(wide): np.dtype(narrow) for wide, narrow in zip(_widths[64], _widths[32])}
NARROW[np.dtype("uint64")] = np.dtype("uint32")
