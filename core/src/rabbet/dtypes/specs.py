"""Rows of the table of dtypes: what one looks like, those of the core, and their order in promotion.

The core knows bool, the integers of 8 to 64 bits, float16 to float64 and the two complex dtypes. A plugin's
dtype is a row too, a ``DTypeSpec``. Dtypes that NumPy cannot store, such as those of random keys, are
objects of a class of their own, ``ExtendedDType``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rabbet.dtypes.host_formats import TABLE_BITS, Limits
from rabbet.errors import PluginConflictError

float0 = np.dtype([("float0", np.void, 0)])
"""The dtype of the tangent of an integer: it has no numbers at all."""


class extended(np.generic):
    """Abstract class of the dtypes that NumPy cannot store, for ``issubdtype``.

    Example:
      >>> rb.dtypes.issubdtype(rb.random.key(0).dtype, rb.dtypes.extended)
      True
      >>> rb.dtypes.issubdtype('float32', rb.dtypes.extended)
      False
    """


class prng_key(extended):
    """Abstract class of the dtypes of random keys: ``issubdtype(key.dtype, dtypes.prng_key)``.

    Example:
      >>> rb.dtypes.issubdtype(rb.random.key(0).dtype, rb.dtypes.prng_key)
      True
    """


class ExtendedDType:
    """A dtype of our own making, such as that of random keys. Two of the same class and name are equal.

    An array of it is stored as an array of ``physical_dtype`` with ``physical_shape`` appended to its shape.
    Subclasses set ``type``, an abstract class below ``extended``, for ``issubdtype``.
    Where elements stand for numbers, methods ``encode(self, numbers)``, from an array of numbers to the array
    that stores them, and ``decode(self, stored)``, back, say which: then ``rnp.array([1.5], dtype)`` and
    ``x.astype`` convert, and elements that one number stores are printed as the numbers that they stand for.

    Example:
      >>> from rabbet.extend.dtype import ExtendedDType
      >>> class Money(ExtendedDType):
      ...     type = rb.dtypes.extended
      >>> Money("euro", np.dtype("int64"), (2,)) == Money("euro", np.dtype("int64"), (2,))
      True
    """

    type = extended
    kind = "V"
    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None

    def __init__(self, name: str, physical_dtype: Any, physical_shape: Sequence[int] = ()) -> None:
        self.name = name
        self.physical_dtype = np.dtype(physical_dtype)
        self.physical_shape = tuple(physical_shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.physical_dtype.itemsize * int(np.prod(self.physical_shape, dtype=int))

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and self.name == other.name

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class DTypeSpec:
    """One row of the table, as a value.

    Args:
      name: the dtype's name, ``"bfloat16"``.
      numpy_dtype: the NumPy dtype or scalar type that stores it. None, with ``decode``: one is made, of
        elements without a meaning to NumPy, so that no extension in C is needed. ``np.asarray(x, "float32")``
        gives the numbers then.
      mlir: its StableHLO element type, ``"bf16"``; None for a format that compilers do not know. With
        ``codes`` it still computes; without, arrays of it are stored only.
      kind: ``b`` bool, ``i`` and ``u`` integers, ``f`` float, ``c`` complex, ``V`` none of these.
      above: names of the dtypes that promote to this one directly (``float*`` is a Python float).
      below: names of the dtypes that this one promotes to directly. One that is another package's is loaded
        when this row is; one that is not installed is left out. Without neighbours there is no promotion.
      finfo: what ``finfo`` (for an integer: ``iinfo``) answers, or a function that makes it. None:
        NumPy's answer.
      compute: name of the dtype to calculate in where a backend stores this one but cannot calculate in it.
      codes: name of the integer dtype that devices store instead, the bits of each element as a number,
        for a real format that compilers do not know. Programs decode to ``compute``, calculate there, and
        encode each result.
      decode: a function of an array of codes that returns the numbers, an array of ``compute``. It and
        ``encode`` are programs, written with operators and functions of Rabbet. What the codes mean, in what
        order they stand, and which are infinite or no number, is their affair: numbers are compared and
        sorted by what ``decode`` says.
      encode: a function of an array of ``compute`` that returns the codes of the numbers next to its
        elements, an array of ``codes``; how it rounds is said by ``rounding``. Of float64 arrays the elements
        are rounded to ``compute`` first. Without the two, a format of up to 8 bits is read by NumPy's own
        dtype: sign and magnitude, rounded to the nearest number, to the even one of two, beyond the largest
        one saturated.
      bits: bits of one element, where that is not ``8 * itemsize``.
      infinities, nan, negative_zero, zero: whether a float has these; most have them all.
      overflow: what becomes of a float beyond the largest one: ``"infinity"``, ``"nan"`` or ``"saturate"``.
        By default infinity, if there is one.
      rounding: how a number between two of the format's is rounded: ``"nearest-even"`` (of two that are as
        near the one whose code is even), ``"nearest"`` (either of the two), ``"toward-zero"``, ``"down"`` or
        ``"other"``; ``rabbet.testing.check_dtype`` tries it.

    From these follow ``largest`` and ``smallest``, the ends of the numbers, and ``highest`` and ``lowest``,
    where maxima and minima begin: infinities, or the ends where a format has none.

    Example:
      >>> import ml_dtypes
      >>> from rabbet.extend.dtype import DTypeSpec
      >>> BFLOAT16 = DTypeSpec(
      ...     "bfloat16", ml_dtypes.bfloat16, "bf16", "f", above=("float*",), below=("float32",),
      ...     compute="float32", finfo=lambda: ml_dtypes.finfo(ml_dtypes.bfloat16),
      ... )
      >>> BFLOAT16.mlir, BFLOAT16.highest, BFLOAT16.overflow
      ('bf16', inf, 'infinity')
    """

    name: str
    numpy_dtype: Any
    mlir: str | None
    kind: str
    above: tuple = ()
    below: tuple = ()
    finfo: Any = None
    compute: str | None = None
    bits: int | None = None
    infinities: bool | None = None
    nan: bool | None = None
    negative_zero: bool | None = None
    zero: bool = True
    overflow: str | None = None
    rounding: str = "nearest-even"
    codes: str | None = None
    decode: Callable[[Any], Any] | None = None
    encode: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        rounded = self.kind in "fc"
        for fact in ("infinities", "nan", "negative_zero"):
            if getattr(self, fact) is None:
                object.__setattr__(self, fact, rounded)
        if self.overflow is None and rounded:
            beyond = "infinity" if self.infinities else "nan" if self.nan else "saturate"
            object.__setattr__(self, "overflow", beyond)

    @cached_property
    def dtype(self) -> np.dtype:
        """The NumPy dtype."""
        if self.numpy_dtype is None:
            return np.dtype([(self.name, f"V{np.dtype(self.codes).itemsize}")])
        return np.dtype(self.numpy_dtype)

    @property
    def storage_bits(self) -> int:
        """Bits of one element as a device stores it."""
        return 8 * self.dtype.itemsize if self.codes else self.bits or 8 * self.dtype.itemsize

    @cached_property
    def limits(self) -> Any:
        """What ``finfo`` answers for a float or complex dtype, ``iinfo`` for an integer; else None."""
        if self.finfo is not None:
            return self.finfo() if callable(self.finfo) else self.finfo
        if self.decode is not None and self.storage_bits <= TABLE_BITS:
            return Limits(self)
        ask = {"f": np.finfo, "c": np.finfo, "i": np.iinfo, "u": np.iinfo}.get(self.kind)
        return None if ask is None else ask(self.dtype)

    @cached_property
    def largest(self) -> Any:
        """The largest number, a Python one; of a complex dtype the largest of either part."""
        return self._end("max", True)

    @cached_property
    def smallest(self) -> Any:
        """The number furthest below zero (of a format without negative numbers the one next to zero)."""
        return self._end("min", False)

    def _end(self, name: str, of_bool: bool) -> Any:
        if self.limits is None:
            return of_bool if self.kind == "b" else None
        return (int if self.kind in "iu" else float)(getattr(self.limits, name))

    @cached_property
    def highest(self) -> Any:
        """What no value exceeds, where a minimum begins: plus infinity, or the largest number."""
        return self._beyond(self.largest, np.inf)

    @cached_property
    def lowest(self) -> Any:
        """What no value is below, where a maximum begins: minus infinity, or the smallest number."""
        return self._beyond(self.smallest, -np.inf)

    def _beyond(self, end: Any, infinity: Any) -> Any:
        end = infinity if self.infinities else end
        return complex(end, end) if self.kind == "c" else end


ROUNDINGS = ("nearest-even", "nearest", "toward-zero", "down", "other")


def check_codes(spec: DTypeSpec) -> None:
    """Refuse a row that is stored as codes and lacks what programs need of it."""
    problem = _problem_with_codes(spec)
    if problem is not None:
        raise PluginConflictError(f"dtype {spec.name!r}, of kind {spec.kind!r}: {problem}")


def _problem_with_codes(spec: DTypeSpec) -> str | None:
    own = spec.decode is not None or spec.encode is not None
    if spec.rounding not in ROUNDINGS:
        return f"rounding={spec.rounding!r}; it is one of {', '.join(map(repr, ROUNDINGS))}"
    if spec.codes is None:
        if own or spec.numpy_dtype is None:
            return "encode, decode and numpy_dtype=None go with codes, such as codes='int16'"
        return None
    if spec.kind != "f" or spec.compute is None:
        return (
            f"it is stored as {spec.codes!r} and computes in {spec.compute!r}\n  to fix: kind 'f', "
            "compute='float32'"
        )
    codes = np.dtype(spec.codes)
    if codes.kind not in "iu" or codes.itemsize != spec.dtype.itemsize:
        return f"codes={spec.codes!r}; they are integers of {spec.dtype.itemsize} bytes, as an element has"
    if own:
        if spec.decode is None or spec.encode is None:
            return "give both encode and decode"
        if spec.storage_bits > TABLE_BITS and spec.finfo is None:
            return f"with more than {TABLE_BITS} bits it needs a finfo=, with max, min, eps and tiny"
        return None
    if codes.kind != "u" or codes.itemsize > 1:
        return (
            f"codes={spec.codes!r}; of formats that NumPy's own dtype explains they are 'uint8', sign and "
            "magnitude\n  to fix: give encode and decode, programs from and to the dtype in which it "
            "computes (docs/extend.md#a-dtype)"
        )
    return None


def _core_specs() -> Iterator[DTypeSpec]:
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
    np.complexfloating, np.flexible, np.character, np.str_, np.bytes_, np.object_,
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
