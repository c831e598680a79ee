"""Arrays of extended dtypes (typed keys) at the level of StableHLO.

An array of keys of shape S is stored as an array of shape S + physical_shape. So an operation that moves keys about is the same operation on the stored array,
batched over the trailing dimensions: the primitive's ``batch`` rule says what that is, and no primitive needs to know of keys.
"""

from rabbet import dtypes
from rabbet.payloads import Batched
from rabbet.rules import all_tables
from rabbet.staging import stage

# These convert between keys and what stores them, or carry programs that are lowered on their own.
AWARE = "extended"


def is_aware(primitive):
    """Whether a primitive's own lowering deals with extended dtypes: those between both worlds, and carriers of bodies."""
    return "body" in primitive.kinds or AWARE in primitive.rules


def physical(eqn):
    """The program on stored arrays that an equation with extended dtypes amounts to."""
    avals = [v.aval for v in eqn.inputs]
    ranks = [_extra(a) for a in avals]
    batch = all_tables()["batch"].lookup(eqn.op.primitive)

    def one_level(op, args, depths):
        """``op`` batched over the last dimension of each argument that has some left."""
        if not any(depths):
            return list(op(*args)) if op.primitive.multiple_results else [op(*args)]
        payloads = [Batched(x, x.ndim - 1 if d else None) for x, d in zip(args, depths, strict=True)]
        out = batch(op, *payloads)
        outs = out if op.primitive.multiple_results else [out]
        return [_last(b) for b in outs]

    if max(ranks) > 1:
        raise NotImplementedError(
            f"primitive {eqn.op.primitive.name!r} on the extended dtype {avals[0].dtype}: storage of rank "
            f"{max(ranks)} is not supported, store each element as a vector"
        )
    closed = stage(lambda *args: one_level(eqn.op, args, ranks), [a.physical for a in avals], eqn.op.primitive.name)
    return closed.jaxpr


def _extra(aval):
    return len(aval.dtype.physical_shape) if isinstance(aval.dtype, dtypes.ExtendedDType) else 0


def _last(batched):
    value, axis = batched.value, batched.axis
    if axis is None or axis == value.ndim - 1:
        return value
    from rabbet.primitives import shape

    order = [i for i in range(value.ndim) if i != axis] + [axis]
    return shape.transpose(value, permutation=tuple(order))

