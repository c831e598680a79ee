"""Dtypes: converting to one, and the ends of its range."""

from rabbet import dtypes, lax
from rabbet.extend.transform import typeof


def converted(x, dtype):
    """``x`` as ``dtype``, or itself if it has it."""
    return x if typeof(x).dtype == dtype else lax.convert_element_type(x, dtype)


def extreme(dtype, largest):
    """The largest or smallest value of a dtype: an infinity for floats that have one."""
    spec = dtypes.spec(dtype)
    return spec.highest if largest else spec.lowest
