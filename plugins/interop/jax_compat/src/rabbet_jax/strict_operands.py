"""Functions of ``jax.lax`` that do not bring their operands together: operands of one dtype only, Python
numbers in their default dtypes. The refusal shows where a dtype is not the one that a program thinks.
"""

import functools

from rabbet import dtypes, lax
from rabbet.extend.functions import is_python_scalar
from rabbet.extend.transform import typeof

OF_ONE_DTYPE = (
    "add sub mul div rem max min atan2 nextafter bitwise_and bitwise_or bitwise_xor shift_left "
    "shift_right_logical shift_right_arithmetic eq ne lt le gt ge complex igamma igammac clamp"
).split()
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


FUNCTIONS = {name: of_one_dtype(name) for name in OF_ONE_DTYPE}
FUNCTIONS.update(
    pow=power, abs=absolute, select=select, pad=pad, dynamic_slice=with_positions("dynamic_slice", 1),
    dynamic_update_slice=with_positions("dynamic_update_slice", 2),
)  # fmt: skip
