"""Operations whose region combines two elements, as reductions have one."""

from rabbet.trace.staging import stage


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


__all__ = ["emit_pairs"]
