"""How Python scalars take part in operations: they adopt the dtype of the arrays beside them.

Rules are written with plain numbers (``mul(x, 2.0)``), whatever the dtype of ``x`` is; the bottom
interpreters, staging and evaluation, ask here what such a number becomes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.config import config
from rabbet.dtypes.narrowing import narrowed
from rabbet.program.avals import ShapedArray

if TYPE_CHECKING:
    from rabbet.rules.operator import Op
    from rabbet.rules.payloads import Batched
    from rabbet.typing import DType, Value

PYTHON_SCALARS = (bool, int, float, complex)
_python_scalars = frozenset(PYTHON_SCALARS)
FLOAT, LARGEST = np.dtype("float32"), float(np.finfo("float32").max)


def is_python_scalar(x: Any) -> Any:
    """Whether ``x`` is a bare Python number, whose dtype is weak.

    Example:
      >>> from rabbet.extend.functions import is_python_scalar
      >>> is_python_scalar(2.0), is_python_scalar(np.float32(2))
      (True, False)
    """
    return type(x) in _python_scalars


def operand_avals(op: Op, args: list[Batched | Value] | tuple[Any, ...], type_of: Callable[..., Any]) -> Any:
    """The avals of ``args``, with each Python scalar typed by the arrays beside it if the primitive says so.

    Args:
      op: the operator.
      args: its operands; at least one is a Python scalar.
      type_of: gives the aval of an operand.

    Example:
      >>> from rabbet.extend.primitive import operand_avals
      >>> [a.str_short() for a in operand_avals(lax.mul.op(), [np.ones(2, np.float16), 2.0], rb.typeof)]
      ['f16[2]', 'f16[]']
    """
    first = op.primitive.adopt
    if first == 0 and len(args) == 2:
        # By far the commonest case, x * 2.0, without the ceremony.
        x, y = args
        if type(y) in _python_scalars:
            if type(x) not in _python_scalars:
                aval = type_of(x)
                if type(y) in aval.adopting:
                    return [aval, aval.scalar]
        else:
            aval = type_of(y)
            if type(x) in aval.adopting:
                return [aval.scalar, aval]
    avals = [type_of(a) for a in args]
    if first is None:
        return avals
    arrays = [a for x, a in zip(args[first:], avals[first:], strict=True) if type(x) not in _python_scalars]
    # The decisive operand is the first strongly typed array; weak ones give way to it as they do in
    # promotion.
    model = next((a for a in arrays if not a.weak_type), arrays[0] if arrays else None)
    if model is None:
        dtype, weak = dtypes.promote(*args[first:])
        model = ShapedArray((), dtype, weak)
    for i in range(first, len(args)):
        if type(args[i]) in _python_scalars and fits(args[i], model.dtype):
            avals[i] = ShapedArray((), model.dtype, model.weak_type)
    return avals


def fits(value: Any, dtype: DType) -> bool:
    """Whether a Python scalar may adopt ``dtype`` without changing its kind, as a float as int would."""
    if isinstance(dtype, dtypes.ExtendedDType):
        return False
    return dtypes.kind_rank(type(value)) <= dtypes.kind_rank(dtype)


def _scalar_class(scalar: type) -> type:
    """A class of one of NumPy's scalars that say by their ``aval`` what their type is: exactly their own
    dtype, where NumPy's own of 64 bits are narrowed (see ``dtypes``), or a weak type.
    """
    methods = {
        "aval": ShapedArray((), np.dtype(scalar)),
        "__reduce__": lambda self: (typed_scalar, (scalar(self), self.aval)),
        "__repr__": lambda self: str(self),
        "__module__": __name__,
    }
    return type("TypedScalar", (scalar,), methods)


_classes = {
    np.dtype(scalar): _scalar_class(scalar)
    for scalar in (np.int32, np.int64, np.uint64, np.float32, np.float64, np.complex64, np.complex128)
}
NARROWED = frozenset((np.int64, np.uint64, np.float64, np.complex128))
"""NumPy's scalars whose dtype is narrowed where 64 bits are off."""


def typed_scalar(value: Any, aval: ShapedArray) -> np.generic:
    """A number with the type ``aval``, one of the default widths or of 64 bits."""
    made = _classes[aval.dtype](value)
    if aval is not type(made).aval:
        made.aval = aval
    return made


def typed(value: Any, dtype: DType) -> Any:
    """A scalar operand of exactly ``dtype``: a NumPy scalar, one that says so where NumPy's is narrowed."""
    host = np.asarray(value)
    if dtypes.has_own_format(dtype):  # a number that says of itself that it is one of these
        made = _classes[np.dtype("float64")](dtypes.host_cast(host, np.dtype("float64"))[()])
        made.aval = ShapedArray((), dtype)
        return made
    scalar = (narrowed(host, dtype) if host.dtype.kind == "f" else host.astype(dtype))[()]
    return scalar if dtypes.narrow(scalar.dtype) == dtype else typed_scalar(scalar, ShapedArray((), dtype))


def wraps(value: complex, dtype: DType) -> Any:
    """Whether a Python number stands for another one, by a setting; what is made of it is then not kept."""
    return type(value) is int and modulo(value, dtype) != value


def filling(value: Any, dtype: Any, asked: bool = False) -> Any:
    """A Python number as a scalar operand of exactly ``dtype``; one too large wraps or is an error.
    ``asked``: a program names that dtype.
    """
    return typed(dtypes.numpy_scalar(modulo(value, dtype, asked), dtype), dtype)


def as_operand(value: Any, aval: ShapedArray) -> Any:
    """A Python scalar as something whose own type is ``aval``'s dtype: a Python scalar still, where that is
    the default width.
    """
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        return value
    scalar_type = dtypes.scalar_type_of(dtype)
    if dtypes.scalar_dtype(scalar_type) == dtype:
        return value if type(value) is scalar_type else scalar_type(value)
    return typed(value, dtype)


def modulo(value: np.generic | float, dtype: DType, asked: bool = False) -> np.generic | float:
    """A Python int beside an integer ``dtype``: itself; with ``config.python_int_overflow`` at "wrap" its
    value modulo two to the number of bits, if the default int holds it, or if a program has ``asked`` for
    that dtype and 64 bits hold it.
    """
    if type(value) is not int or config.python_int_overflow == "error" or dtypes.kind(dtype) not in "iu":
        return value
    default, info = dtypes.iinfo("int64" if asked else dtypes.scalar_dtype(int)), dtypes.iinfo(dtype)
    if not default.min <= value <= default.max:
        return value
    return int((value - info.min) % (int(info.max) - int(info.min) + 1) + info.min)


def as_numpy(value: np.generic | float, aval: ShapedArray) -> np.ndarray:
    """A scalar as a NumPy array of its aval's dtype; an int that does not fit raises ``OverflowError``, or is
    taken modulo, as ``config.python_int_overflow`` says.
    """
    dtype = aval.dtype
    if type(value) is float and dtype is FLOAT and -LARGEST < value < LARGEST:  # what most are
        return np.array(value, FLOAT)
    if isinstance(value, np.number):
        return narrowed(np.asarray(value), dtype)
    if type(value) is int and aval.kind in "iu":
        info = dtypes.iinfo(dtype)
        if not info.min <= value <= info.max:
            if (wrapped := modulo(value, dtype)) != value:
                return np.asarray(wrapped, dtype)
            raise OverflowError(
                f"the Python int {value} does not fit {dtype.name} (from {info.min} to {info.max}); "
                f"give an array of a wider dtype, as in numpy.asarray(..., dtype='int64')"
            )
    return narrowed(np.asarray(value), dtype)
