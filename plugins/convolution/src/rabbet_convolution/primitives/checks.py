"""Checks of dimensions and of functions, with messages that say what was given and what is needed."""

from rabbet.extend.functions import describe_function
from rabbet.extend.primitive import effect_names


def axis_in_range(name, axis, ndim):
    """A non-negative axis from one that may count from the end."""
    if not -ndim <= axis < ndim:
        raise ValueError(f"{name}: axis {axis} is out of range for an array of {ndim} dimensions")
    return axis % ndim if ndim else axis


def axes_valid(name, axes, ndim):
    """Refuse repeated, negative or too large axes, as primitives take them."""
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: axes {axes} repeat one")
    for axis in axes:
        if not 0 <= axis < ndim:
            raise ValueError(f"{name}: axis {axis} is out of range for an array of {ndim} dimensions")


def no_effects(name, program, function):
    """Refuse a function that does something besides computing: nobody says how often it is called, and in
    which order.
    """
    if program.effects:
        raise TypeError(
            f"{name} takes a function that only computes; {describe_function(function)} has effects "
            f"({effect_names(program.effects)}), and how often and in which order it is called is not fixed. "
            "lax.scan and lax.fori_loop have an order"
        )
