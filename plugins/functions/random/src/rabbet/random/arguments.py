"""What the functions of this module accept: keys, shapes, dtypes, bounds; with messages that name the
function.
"""

import numpy as np

import rabbet as rb
from rabbet import dtypes, lax
from rabbet.errors import ConcretizationTypeError, DTypeError
from rabbet.extend.functions import broadcast_operands, is_evaluating, is_python_scalar, to_array
from rabbet.extend.primitive import ShapedArray, full_of_type
from rabbet.extend.shapes import dimension_of
from rabbet.extend.transform import typeof


def shape_of(shape, who):
    """A tuple of ints from a tuple, list or single int."""
    try:
        sizes = tuple([dimension_of(n) for n in (shape if hasattr(shape, "__iter__") else (shape,))])
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"{who}: shape is a tuple of ints, got {shape!r}") from None
    if any(n < 0 for n in sizes):
        raise ValueError(f"{who}: a dimension cannot be negative, got the shape {sizes}")
    return sizes


def dtype_of(dtype, default, kinds, who):
    """The dtype that was asked for, by default ``default`` (``float`` or ``int``: of the default width)."""
    found = dtypes.requested(default if dtype is None else dtype)
    if dtypes.kind(found) not in kinds:
        words = {"f": "float", "c": "complex", "i": "signed integer", "u": "unsigned integer", "b": "boolean"}
        wanted = " or ".join(words[k] for k in kinds)
        raise DTypeError(f"{who}: dtype must be {wanted}, got {dtypes.short_name(found)}")
    return found


def wide(dtype):
    """Whether a NumPy scalar of ``dtype`` would be narrowed on its way into an operation."""
    return dtypes.narrow(dtype) != dtype


def scalar(value, dtype):
    """A number as an operand of exactly ``dtype``."""
    return full_of_type(ShapedArray((), dtype), value)


def parameter(x, dtype):
    """A parameter of a distribution, made ready for a fused function: a number keeps all the bits that
    ``dtype`` has.
    """
    if isinstance(x, (bool, int, float, np.generic, np.ndarray)):
        if getattr(x, "dtype", dtype).kind in "SUOM":
            raise TypeError(f"a parameter of a distribution is a number or an array of them, got {x!r:.60}")
        value = dtypes.host_cast(np.asarray(x), dtype)
        if wide(dtype):
            with rb.config.override(enable_x64=True):
                return to_array(value) if value.ndim or is_evaluating() else scalar(value[()], dtype)
        return value if value.ndim else float(value)
    return x


def operand(x, dtype):
    """A number or array as an operand of exactly ``dtype``."""
    return scalar(x, dtype) if is_python_scalar(x) else lax.convert_element_type(x, dtype)


def broadcast(x, shape, who, what):
    """``x`` broadcast to ``shape`` by NumPy's rule; a scalar stays one."""
    have = typeof(x).shape
    if have == shape or not have:
        return x
    lead = len(shape) - len(have)
    if lead < 0 or any(n not in (1, m) for n, m in zip(have, shape[lead:])):
        raise ValueError(
            f"{who}: {what} of the shape {have} does not broadcast to the shape {shape} of the result"
        )
    return lax.broadcast_in_dim(x, shape, tuple(range(lead, len(shape))))


def common_shape(shape, who, *parameters):
    """``shape``, or if it is None the shape that the parameters broadcast to."""
    if shape is not None:
        return shape_of(shape, who)
    return (
        typeof(broadcast_operands(parameters)[0]).shape
        if len(parameters) > 1
        else typeof(parameters[0]).shape
    )


def index_dtype():
    """The dtype of positions: that of a Python int."""
    return dtypes.canonicalize(int)
