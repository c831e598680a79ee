"""The larger and the smaller of complex numbers: by their real parts, then by their imaginary parts.

StableHLO's ``maximum`` looks at real parts only. So where elements are complex, what combines two of them is
written out here, beside arrays and as the region of a reduction.
"""

from rabbet.primitives import convert, logic
from rabbet.trace.staging import stage


def before(x, y):
    """Whether ``x`` comes before ``y``, elementwise; nothing is before or behind NaN."""
    a, b = convert.real(x), convert.real(y)
    second = logic.lt(convert.imag(x), convert.imag(y))
    first = logic.bitwise_or(logic.lt(a, b), logic.bitwise_and(logic.eq(a, b), second))
    return logic.bitwise_and(first, logic.bitwise_and(logic.eq(x, x), logic.eq(y, y)))


def larger(x, y):
    """The one that does not come before the other; NaN if either is."""
    return logic.select_n(logic.bitwise_or(before(x, y), logic.ne(y, y)), x, y)


def smaller(x, y):
    """The one that does not come behind the other; NaN if either is."""
    return logic.select_n(logic.bitwise_or(before(y, x), logic.ne(y, y)), x, y)


def emit_pairs(op, head, combine, types):
    """Write an operation of one result whose region combines two elements; return the result's name.

    Args:
      head: the operation with its operands and attributes, up to the region.
      combine: from two scalars of the result's dtype to one.
      types: what stands behind the region.
    """
    scalar = op.out.update(shape=(), weak_type=False)
    program = stage(lambda a, b: [combine(a, b)], [scalar, scalar], op.primitive.name).jaxpr
    return op.emit_regions(head, [(program, [])], types, 1, closed=True)[0]


__all__ = ["before", "emit_pairs", "larger", "smaller"]
