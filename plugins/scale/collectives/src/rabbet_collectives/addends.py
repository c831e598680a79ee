"""What operations make of sums that are not added up yet: which take them addend by addend, and which would
count an addend once a member. For axes within ``shard_map`` and for those that types speak of outside.
"""

from rabbet import dtypes, lax
from rabbet.errors import ShardingError
from rabbet.extend import primitive as p

NOWHERE: frozenset = frozenset()
FILL = lax.GatherScatterMode.FILL_OR_DROP
# Linear ones that the compiler refuses of addends; of a Fourier transform it takes whole values.
UNKNOWN = frozenset([p.real, p.imag, p.conj])
# Moves and copies of elements, and sums of them, which say nothing of their own of kinds.
MOVING = frozenset([p.dynamic_slice, p.convert_element_type, p.select_n, p.gather])
# Those that write into an array, and which operand is written.
WRITING = {p.dynamic_update_slice: 1, p.scatter_add: 2}
OUTSIDE = "add up before, rb.reshard(x, P(...)) with a spec without unreduced"
WITHIN = "add up before, lax.psum(x, {!r})"
WHY = {
    "sum": "the operand is a sum that is not added up yet (unreduced)\n  to fix: add up before, lax.psum",
    "said": "the operand is reduced there: its gradient is a sum of addends\n"
    "  to fix: lax.pcast(x, {!r}, to='varying') before",
}


def of_results(op, avals, sums_of, said_of, fix=OUTSIDE):
    """Along which axes the results of an operation are sums, and along which they are said to be added up.

    Args:
      op: an operator without bodies that communicates along no axis.
      avals: the types of its operands.
      sums_of, said_of: of a type, a frozenset of axes each.
      fix: what errors say to do.

    Returns:
      two frozensets.

    Raises:
      ShardingError: where an operand is a sum and the operation is not linear in it alone.
    """
    full = [a for a in avals if a.ndim or sums_of(a) or said_of(a)]
    sums = {sums_of(a) for a in (avals if op.primitive is p.pad else full)}
    if sums <= {NOWHERE}:
        return NOWHERE, NOWHERE.union(*[said_of(a) for a in full])
    return _of_sums(op, avals, sums, sums_of, said_of, fix), NOWHERE


def _of_sums(op, avals, sums, sums_of, said_of, fix):
    primitive = op.primitive
    refuse = lambda why: refused(op, avals, why, fix)
    if primitive is p.mul or primitive is p.div:
        of_sum = [a for a in avals if sums_of(a)]
        divided = primitive is p.div
        divided = divided and (sums_of(avals[1]) or dtypes.kind(avals[0].dtype) not in "fc")
        if len(of_sum) == 1 and not divided:
            (axes,) = [sums_of(a) for a in of_sum]
            others = [a for a in avals if a is not of_sum[0]]
            if all(not a.ndim or axes <= said_of(a) for a in others):
                return axes
        raise refuse("of a product one operand may be such a sum, the others 'reduced'")
    if primitive is p.gather:
        sums = {sums_of(avals[0])}
        if op.params["mode"] is FILL and not is_of_addends(op.params["fill_value"], avals[0].dtype):
            raise refuse("what it reads outside would be counted once a device")
    if primitive is p.select_n:
        sums = {sums_of(a) for a in avals[1:]}
    if primitive in WRITING:
        sums = {sums_of(avals[0]), sums_of(avals[WRITING[primitive]])}
    if primitive is p.convert_element_type and not is_kept_in(avals[0].dtype, op.params["new_dtype"]):
        raise refuse("numbers of the other dtype are not sums of the converted addends")
    if primitive in UNKNOWN or primitive.name == "fft":
        raise refuse("the compiler does not take it addend by addend")
    linear = {"linear", "structural"} & set(primitive.kinds) or primitive in MOVING or primitive in WRITING
    if not linear:
        raise refuse("it is not linear")
    if "elementwise" in primitive.kinds and primitive is not p.select_n:
        sums = {sums_of(a) for a in avals}  # a number, too, would be added on each device
    if len(sums) > 1:
        raise refuse("the others are added up already, and would be counted once a device")
    return sums.pop()


def is_of_addends(fill, dtype):
    """Whether a sum of as many fill values as there are devices is that value: zero, or not a number."""
    return dtypes.kind(dtype) in "fc" if fill is None else not fill or fill != fill


def is_kept_in(old, new):
    """Whether a sum of numbers may be converted addend by addend: by rounding, or modulo fewer bits."""
    one, other = dtypes.kind(old), dtypes.kind(new)
    if one in "fc" or other not in "iu":
        return one in "fc" and other in "fc"
    return one in "iu" and dtypes.itemsize_bits(new) <= dtypes.itemsize_bits(old)


def refused(op, avals, why, fix=OUTSIDE):
    """The error that says what to write."""
    shown = ", ".join([a.str_short() for a in avals])
    return ShardingError(
        f"{op.primitive.name} of {shown}: an operand is a sum that is not added up yet (unreduced), and "
        f"{why}\n  to fix: {fix}"
    )


__all__ = ["OUTSIDE", "WHY", "WITHIN", "of_results", "refused"]
