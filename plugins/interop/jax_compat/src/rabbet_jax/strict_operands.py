"""Functions of ``jax.lax`` that do not bring their operands together: operands of one dtype only, Python
numbers in their default dtypes. The refusal shows where a dtype is not the one that a program thinks.
"""

import functools

from rabbet import dtypes, lax
from rabbet.extend.functions import is_python_scalar
from rabbet.extend.transform import batch, is_tracer, typeof

OF_ONE_DTYPE = (
    "add sub mul div rem max min atan2 nextafter bitwise_and bitwise_or bitwise_xor shift_left "
    "shift_right_logical shift_right_arithmetic eq ne lt le gt ge complex igamma igammac clamp zeta polygamma"
).split()
OF_ONE_AXIS = "cumsum cumprod cummax cummin cumlogsumexp argmax argmin".split()
REDUCTIONS = [f"reduce_{name}" for name in "sum prod max min and or xor".split()]
# What has another meaning for booleans, or none.
NOT_OF_BOOLEANS = frozenset(["add", "mul"])


def dtype_of(x):
    """The dtype of an operand by itself; None for what is none."""
    if is_python_scalar(x):
        return dtypes.scalar_dtype(type(x))
    try:
        return typeof(x).dtype
    except TypeError:
        return None


def refuse_mixed(name, operands):
    """Raise TypeError for operands of several dtypes."""
    found = [dtype_of(x) for x in operands]
    if None in found:  # the function itself says what is wrong
        return
    if any(d != found[0] for d in found):
        named = ", ".join([d.name for d in found])
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {named}; the functions of jax.numpy "
            "promote theirs"
        )
    if name in NOT_OF_BOOLEANS and found[0].name == "bool":
        raise TypeError(f"{name} does not accept dtype bool")


def of_one_dtype(name):
    """``lax.<name>`` for operands of one dtype."""
    function = getattr(lax, name)

    @functools.wraps(function)
    def strict(*operands, **keywords):
        refuse_mixed(name, operands)
        return function(*operands, **keywords)

    strict.__wrapped__ = function
    return strict


@functools.wraps(lax.pow)
def power(x, y):
    """``lax.pow`` of one dtype, or of a float and an integer."""
    at = dtype_of(y)
    if at is None or at.name == "bool" or dtypes.kind(at) not in "iu":
        refuse_mixed("pow", (x, y))
    return lax.pow(x, y)


@functools.wraps(lax.abs)
def absolute(x, **keywords):
    """``lax.abs`` of what has a sign."""
    of = dtype_of(x)
    if of is not None and dtypes.kind(of) == "u":
        raise TypeError(f"abs does not accept dtype {of.name}; what has no sign is its absolute value")
    return lax.abs(x, **keywords)


@functools.wraps(lax.select)
def select(pred, on_true, on_false):
    """``lax.select`` between two arrays of one type."""
    refuse_mixed("select", (on_true, on_false))
    shapes = [typeof(x).shape for x in (on_true, on_false)]
    if shapes[0] != shapes[1]:
        raise TypeError(f"select cases must have the same shapes, got {shapes[0]} and {shapes[1]}")
    # JAX looks at the shapes of what a mapped selector becomes only, and scalars beside it are repeated.
    mapped = is_tracer(pred) and pred.interpreter.table is batch and shapes[0] == ()
    if typeof(pred).shape not in ((), shapes[0]) and not mapped:
        raise TypeError(
            f"select `which` must be scalar or have the same shape as cases, got {typeof(pred).shape} and "
            f"{shapes[0]}"
        )
    return lax.select(pred, on_true, on_false)


@functools.wraps(lax.pad)
def pad(operand, padding_value, padding_config):
    """``lax.pad`` by a value of the dtype of the operand."""
    refuse_mixed("pad", (operand, padding_value))
    return lax.pad(operand, padding_value, padding_config)


def with_positions(name, place):
    """A function of ``lax`` whose operand number ``place`` is a sequence of positions, of one dtype."""
    function = getattr(lax, name)

    @functools.wraps(function)
    def strict(*operands, **keywords):
        starts = operands[place] if len(operands) > place else keywords.get("start_indices", ())
        if isinstance(starts, (tuple, list)):
            found = {dtype_of(i) for i in starts}
            if len(found) > 1 and None not in found:
                named = ", ".join(sorted([d.name for d in found]))
                raise TypeError(f"index arguments to {name} must be integers of the same type, got: {named}")
        return function(*operands, **keywords)

    return strict


def refuse_negative(name, dims, error=TypeError):
    """Raise for a dimension that is counted from the end, which functions of ``jax.lax`` do not take."""
    for d in dims if isinstance(dims, (tuple, list)) else (dims,):
        if isinstance(d, int) and d < 0:
            raise error(f"{name} requires dimensions to be nonnegative, got {dims}")


def counted_from_start(name, place, keyword, error):
    """A function of ``lax`` whose operand number ``place``, called ``keyword``, names dimensions from 0 on.
    """
    function = getattr(lax, name)

    @functools.wraps(function)
    def strict(*operands, **keywords):
        refuse_negative(name, operands[place] if len(operands) > place else keywords.get(keyword, 0), error)
        return function(*operands, **keywords)

    return strict


@functools.wraps(lax.dot_general)
def dot_general(lhs, rhs, dimension_numbers, *operands, **keywords):
    """``lax.dot_general`` of dimensions from 0 on."""
    for pair in dimension_numbers:
        for dims in pair if isinstance(pair, (tuple, list)) else ():
            refuse_negative("dot_general", dims)
    return lax.dot_general(lhs, rhs, dimension_numbers, *operands, **keywords)


@functools.wraps(lax.fori_loop)
def fori_loop(lower, upper, body_fun, init_val, **keywords):
    """``lax.fori_loop`` between bounds of one dtype, or a Python int and a signed integer."""
    found = [dtype_of(lower), dtype_of(upper)]
    if None not in found and found[0] != found[1]:
        number = any(is_python_scalar(x) for x in (lower, upper))
        if not number or any(dtypes.kind(d) != "i" for d in found):
            raise TypeError(
                "lower and upper arguments to fori_loop must have equal types, got "
                f"{found[0].name} and {found[1].name}"
            )
    return lax.fori_loop(lower, upper, body_fun, init_val, **keywords)


@functools.wraps(lax.slice_in_dim)
def slice_in_dim(operand, start_index, limit_index, stride=1, axis=0):
    """``lax.slice_in_dim`` that ends within the operand."""
    shape = typeof(operand).shape
    if isinstance(limit_index, int) and -len(shape) <= axis < len(shape) and limit_index > shape[axis]:
        raise TypeError(
            f"slice limit_indices must be less than or equal to operand shape, got {limit_index} for {shape}"
        )
    return lax.slice_in_dim(operand, start_index, limit_index, stride, axis)


FUNCTIONS = {name: of_one_dtype(name) for name in OF_ONE_DTYPE}
FUNCTIONS.update(
    concatenate=counted_from_start("concatenate", 1, "dimension", TypeError),
    broadcasted_iota=counted_from_start("broadcasted_iota", 2, "dimension", ValueError),
    rev=counted_from_start("rev", 1, "dimensions", TypeError),
    reduce=counted_from_start("reduce", 3, "dimensions", ValueError),
    **{name: counted_from_start(name, 1, "axis", ValueError) for name in OF_ONE_AXIS},
    **{name: counted_from_start(name, 1, "axes", ValueError) for name in REDUCTIONS},
    dot_general=dot_general, fori_loop=fori_loop, slice_in_dim=slice_in_dim,
    pow=power, abs=absolute, select=select, pad=pad, dynamic_slice=with_positions("dynamic_slice", 1),
    dynamic_update_slice=with_positions("dynamic_update_slice", 2),
)  # fmt: skip
