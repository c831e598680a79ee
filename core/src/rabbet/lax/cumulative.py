"""Running reductions along an axis."""

from rabbet.primitives import cumulative as _cumulative
from rabbet.primitives.checks import axis_in_range
from rabbet.trace.interpreter import typeof


def _along(primitive, operand, axis, reverse):
    axis = axis_in_range(primitive.name, axis.__index__(), typeof(operand).ndim)
    return primitive(operand, axis=axis, reverse=bool(reverse))


def cumsum(operand, axis=0, reverse=False):
    """The sum of the elements up to each one along ``axis``; ``reverse``: from each one to the last."""
    return _along(_cumulative.cumsum, operand, axis, reverse)


def cumprod(operand, axis=0, reverse=False):
    """The product of the elements up to each one along ``axis``; ``reverse``: from each one to the last."""
    return _along(_cumulative.cumprod, operand, axis, reverse)


def cummax(operand, axis=0, reverse=False):
    """The largest of the elements up to each one along ``axis``; ``reverse``: from each one to the last."""
    return _along(_cumulative.cummax, operand, axis, reverse)


def cummin(operand, axis=0, reverse=False):
    """The smallest of the elements up to each one along ``axis``; ``reverse``: from each one to the last."""
    return _along(_cumulative.cummin, operand, axis, reverse)


def cumlogsumexp(operand, axis=0, reverse=False):
    """``log(sum(exp(...)))`` of the elements up to each one; ``reverse``: from each one to the last."""
    return _along(_cumulative.cumlogsumexp, operand, axis, reverse)


__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"]
