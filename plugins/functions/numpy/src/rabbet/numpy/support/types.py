"""Dtypes as objects (``float32`` is a dtype and makes scalars), questions about them, and constants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import Array, dtypes
from rabbet.extend.functions import folded, is_python_scalar
from rabbet.extend.transform import typeof
from rabbet.numpy.creation.conversion import asarray
from rabbet.numpy.support.arguments import axes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DTypeLike, Value

pi, e, inf, nan, euler_gamma, newaxis = np.pi, np.e, np.inf, np.nan, np.euler_gamma, None

# NumPy's abstract classes of scalars, for issubdtype.
generic, number, integer, signedinteger, unsignedinteger = (
    np.generic,
    np.number,
    np.integer,
    np.signedinteger,
    np.unsignedinteger,
)
inexact, floating, complexfloating = np.inexact, np.floating, np.complexfloating
flexible, character, object_ = np.flexible, np.character, np.object_

dtype = np.dtype
ndarray = Array


OF_TYPES = """The dtype {name}, and a function: ``{name}(x)`` is an array of it.

Example:
  >>> rnp.{name}.dtype.name
  '{name}'
"""


class ScalarType(type):
    """A dtype that is also a function: ``float32(1)`` is an array without dimensions, ``zeros(3, float32)``
    one of that dtype.

    It equals NumPy's dtype and scalar type of the same name. It is a class as they are, so it can stand in
    annotations; the scalars of NumPy that have the dtype are instances of it.

    Example:
      >>> rnp.float32(1.5), rnp.zeros(2, rnp.float32).dtype == rnp.float32
      (Array(1.5, dtype=float32), True)
      >>> rnp.int8, rnp.int8.dtype
      (rabbet.numpy.int8, dtype('int8'))
      >>> isinstance(np.float32(1), rnp.float32), rnp.float32 | None
      (True, rabbet.numpy.float32 | None)
    """

    dtype: Any

    def __new__(cls, name: str, bases: tuple = (), parts: dict | None = None) -> type:
        if bases:  # `class Board(rnp.int8)`: the same dtype by another name
            return super().__new__(cls, name, bases, parts or {})
        parts = {"__module__": "rabbet.numpy", "__doc__": OF_TYPES.format(name=name)}
        return super().__new__(cls, name, (), {**parts, "dtype": dtypes.canonicalize(name)})

    def __init__(self, name: str, bases: tuple = (), parts: dict | None = None) -> None:
        super().__init__(name, bases, parts or {})

    @folded
    def __call__(self, x: list[int] | float = 0) -> Value:
        """``x`` as an array of this dtype; without dimensions for a number."""
        return asarray(x, self.dtype)

    def __instancecheck__(self, instance: np.generic) -> bool:
        return isinstance(instance, self.dtype.type)

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, ScalarType):
            return self.dtype == other.dtype
        try:
            return self.dtype == other
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype.type)  # so sets of NumPy's scalar types contain it

    def __repr__(self) -> str:
        return f"rabbet.numpy.{self.__name__}"


_scalar_types = {}


def scalar_type(name: str) -> type | None:
    """The one ``ScalarType`` of a name; None if no installed package knows that dtype."""
    found = _scalar_types.get(name)
    if found is None and dtypes.find(name) is not None:
        found = _scalar_types[name] = ScalarType(name)
    return found


bool_ = scalar_type("bool")
int8, int16, int32, int64 = [scalar_type(f"int{n}") for n in (8, 16, 32, 64)]
uint8, uint16, uint32, uint64 = [scalar_type(f"uint{n}") for n in (8, 16, 32, 64)]
float16, float32, float64 = [scalar_type(f"float{n}") for n in (16, 32, 64)]
complex64, complex128 = scalar_type("complex64"), scalar_type("complex128")
single, double, csingle, cdouble = float32, float64, complex64, complex128

# The default dtypes, whose width follows config.enable_x64.
DEFAULTS = {"int_": int, "float_": float, "complex_": complex}


def default_type(name: str) -> type | None:
    """The scalar type behind ``int_``, ``uint``, ``float_`` or ``complex_`` as things are set now; None for
    another name.
    """
    if name == "uint":
        return scalar_type(f"u{dtypes.scalar_dtype(int).name}")
    return scalar_type(dtypes.scalar_dtype(DEFAULTS[name]).name) if name in DEFAULTS else None


def result_type(*args: Any) -> np.dtype[Any]:
    """The dtype of an operation between arrays, numbers and dtypes.

    Raises:
      TypePromotionError: if they have none in common.

    Example:
      >>> rnp.result_type(rnp.ones(2, "int8"), 1.0), rnp.result_type("int32", "float16")
      (dtype('float32'), dtype('float16'))
    """
    return dtypes.result_type(*args)


def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype[Any]:
    """The dtype of an operation between two dtypes. Integers that only a float has room for give the widest
    one, however wide Python's floats are.

    Raises:
      TypePromotionError: if they have none in common.

    Example:
      >>> rnp.promote_types("int32", "float16")
      dtype('float16')
    """
    both = [dtypes.kind(np.dtype(d)) in "iu" for d in (a, b) if d not in (int, float, complex, bool)]
    if len(both) == 2 and all(both) and dtypes.promote(np.dtype(a), np.dtype(b))[1]:
        return np.dtype("float64")
    return dtypes.promote_types(a, b)


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Whether a dtype is another one or of its kind: ``issubdtype(x.dtype, floating)``.

    Example:
      >>> rnp.issubdtype(rnp.float32, rnp.floating)
      True
    """
    return dtypes.issubdtype(arg1, arg2)


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Whether a dtype is of a kind, as the array API standard names kinds, or equal to a dtype; or to one
    of a tuple of these.

    Args:
      dtype: a dtype.
      kind: ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``,
        ``"complex floating"``, ``"numeric"``, a dtype, or a tuple of these.

    Example:
      >>> rnp.isdtype(rnp.float32, "real floating"), rnp.isdtype("int8", ("bool", "integral"))
      (True, True)
    """
    if hasattr(dtype, "shape") and not isinstance(dtype, (type, np.dtype, ScalarType)):
        raise TypeError(f"isdtype takes a dtype, got {typeof(dtype).str_short()}; give its dtype")
    letter = dtypes.kind(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in API_KINDS:
        return letter in API_KINDS[kind]
    try:
        return dtypes.canonicalize(dtype) == dtypes.canonicalize(kind)
    except TypeError:
        raise ValueError(
            f"isdtype: {kind!r} is neither a dtype nor one of the kinds {', '.join(API_KINDS)}"
        ) from None


API_KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip


def can_cast(from_: DTypeLike | Value, to: DTypeLike, casting: Any = "safe") -> bool:
    """Whether values of one dtype can become another, by NumPy's casting rules.

    Example:
      >>> rnp.can_cast("int16", "int32"), rnp.can_cast("float32", "int32")
      (True, False)
    """
    return np.can_cast(dtypes.canonicalize(from_), dtypes.canonicalize(to), casting)


def finfo(dtype: DTypeLike) -> Any:
    """Limits of a float or complex dtype, or of the dtype of an array: ``finfo(float32).eps``.

    Example:
      >>> rnp.finfo(rnp.float32).eps, rnp.finfo('bfloat16').bits
      (np.float32(1.1920929e-07), 16)
    """
    return dtypes.finfo(dtype)


def iinfo(int_type: DTypeLike) -> Any:
    """Limits of an integer dtype, or of the dtype of an array: ``iinfo(int8).max``.

    Example:
      >>> rnp.iinfo(rnp.int8).max, rnp.iinfo(rnp.arange(3)).min
      (127, -2147483648)
    """
    return dtypes.iinfo(int_type)


def ndim(a: Value) -> int:
    """The number of dimensions.

    Example:
      >>> rnp.ndim(rnp.ones((2, 3))), rnp.ndim(1.0)
      (2, 0)
    """
    return len(shape(a))


def shape(a: Value) -> tuple[int, ...]:
    """The shape of an array, of a nested sequence, or of an object that has one.

    Example:
      >>> rnp.shape(rnp.ones((2, 3)))
      (2, 3)
    """
    if isinstance(a, (list, tuple, range)):
        return np.shape(a) if not any(hasattr(v, "aval") for v in a) else asarray(a).shape
    if isinstance(dims := getattr(a, "shape", None), (tuple, list)):
        return tuple(dims)
    return typeof(a).shape


def size(a: Value, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements, in all or along ``axis``, one or several.

    Example:
      >>> rnp.size(rnp.ones((2, 3))), rnp.size(rnp.ones((2, 3)), 1)
      (6, 3)
    """
    dims = shape(a)
    return math.prod([dims[d] for d in axes_of("size", axis, len(dims))])


def isscalar(element: Value) -> bool:
    """Whether this is a number, a text, or an array without dimensions.

    Example:
      >>> rnp.isscalar(3.0), rnp.isscalar(rnp.arange(3))
      (True, False)
    """
    return (
        is_python_scalar(element)
        or isinstance(element, (np.generic, str, bytes))
        or (hasattr(element, "aval") and not element.aval.shape)
        or (isinstance(element, np.ndarray) and not element.shape)
    )


def iscomplexobj(x: Value) -> bool:
    """Whether the dtype of an array, or a dtype itself, is complex.

    Example:
      >>> rnp.iscomplexobj(rnp.array([3.0 + 0j]))
      True
    """
    if isinstance(x, (np.dtype, type, ScalarType)):
        return dtypes.kind(x) == "c"
    if x is None or isinstance(x, (str, bytes)):
        return False
    return dtypes.kind(typeof(asarray(x) if isinstance(x, (list, tuple)) else x).dtype) == "c"


def isrealobj(x: Value) -> bool:
    """Whether the dtype is not complex.

    Example:
      >>> rnp.isrealobj(rnp.arange(3))
      True
    """
    return not iscomplexobj(x)


def iterable(y: Value) -> bool:
    """Whether ``y`` can be iterated.

    Example:
      >>> rnp.iterable(rnp.arange(3)), rnp.iterable(3)
      (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True


__all__ = [
    "bool_",
    "can_cast",
    "cdouble",
    "character",
    "complex64",
    "complex128",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "e",
    "euler_gamma",
    "finfo",
    "flexible",
    "float16",
    "float32",
    "float64",
    "floating",
    "generic",
    "iinfo",
    "inexact",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "integer",
    "iscomplexobj",
    "isdtype",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "nan",
    "ndarray",
    "ndim",
    "newaxis",
    "number",
    "object_",
    "pi",
    "promote_types",
    "result_type",
    "shape",
    "signedinteger",
    "single",
    "size",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]
