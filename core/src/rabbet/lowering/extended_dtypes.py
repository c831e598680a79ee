"""Arrays of extended dtypes (typed keys) at the level of StableHLO.

An array of keys of shape S is stored as an array of shape S + physical_shape. So an operation that moves
keys about is the same operation on the stored array, batched over the trailing dimension: the primitive's
``batch`` rule says what that is, and no primitive needs to know of keys. One that does more than move them
(``eq``) says by a rule named ``extended`` what it computes from the stored arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.rules.operator import Op
from rabbet.rules.payloads import Batched
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.program.jaxpr import Equation, Jaxpr
    from rabbet.rules.primitive import Primitive
    from rabbet.rules.tables import RuleTable
    from rabbet.typing import Value

EXTENDED = "extended"
"""The name of the rule ``(op, *stored arrays) -> stored array`` that a primitive may have."""


batching: Any = None
move_axis: Any = None
reshaped: Any = None


def use_batching(table: RuleTable, mover: Callable[..., Any], reshape: Any) -> None:
    """Name the table whose rules add a dimension, ``mover(x, source, destination)``, which moves one, and
    ``reshape(x, shape)``. Called once, by composition.
    """
    global batching, move_axis, reshaped
    batching, move_axis, reshaped = table, mover, reshape


def lowers_stored(op: Site, *stored: Any) -> Any:
    """The ``extended`` rule of a primitive whose ``lower`` rule speaks of stored arrays by itself.

    Example:
      >>> from rabbet.extend.dtype import lowers_stored
      >>> from rabbet.extend.primitive import Primitive
      >>> look_at = Primitive("look_at_keys", lambda x: x)
      >>> look_at.rule("extended")(lowers_stored) is lowers_stored
      True
    """
    return stored[0]


def is_aware(primitive: Primitive) -> bool:
    """Whether a primitive's own lowering deals with extended dtypes: those between both worlds, and
    carriers of bodies.
    """
    return "body" in primitive.kinds or primitive.rules.get(EXTENDED) is lowers_stored


def physical(eqn: Equation) -> Jaxpr:
    """The program on stored arrays that an equation with extended dtypes amounts to."""
    avals = [v.aval for v in eqn.inputs]
    op = Op(eqn.op.primitive, {k: _stored_dtype(v) for k, v in eqn.op.params.items()})
    own = eqn.op.primitive.rules.get(EXTENDED)
    ranks = [len(_stored_dimensions(a.dtype)) for a in avals]
    if own is None and max(ranks, default=0) > 1:
        raise NotImplementedError(
            f"primitive {eqn.op.primitive.name!r} on the extended dtype "
            f"{avals[ranks.index(max(ranks))].dtype}: storage of "
            f"rank {max(ranks)} is not supported\n  to fix: store each element as a vector, with "
            "physical_shape=(n,)"
        )

    def on_stored(*args: Value) -> list[Value]:
        if own is None:
            out = batched_over_last(op, args, ranks)
        else:  # such rules speak of vectors: of what stores an element as one number, too
            alone = own is not lowers_stored and not any(ranks)
            out = own(op, *[as_vectors(x, a) if alone else x for x, a in zip(args, avals, strict=True)])
            out = reshaped(out, eqn.outputs[0].aval.physical.shape) if alone else out
        return out if op.primitive.multiple_results else [out]

    return stage(on_stored, [a.physical for a in avals], eqn.op.primitive.name).jaxpr


def as_vectors(stored: Any, aval: ShapedArray) -> Any:
    """What stores elements as one number each, with a last dimension of size 1."""
    return reshaped(stored, (*stored.shape, 1)) if aval.is_extended else stored


def batched_over_last(op: Op, args: tuple[Value, ...], ranks: list[int]) -> Value:
    """``op`` batched over the last dimension of those ``args`` whose rank of storage is 1."""
    if not any(ranks):
        return op(*args)
    mapped = [Batched(x, x.ndim - 1 if rank else None) for x, rank in zip(args, ranks)]
    out = batching.lookup(op.primitive)(op, *mapped)
    return [_last(b) for b in out] if op.primitive.multiple_results else _last(out)


def _last(batched: Any) -> Any:
    """The value of ``batched`` with its batch dimension at the end."""
    value, axis = batched.value, batched.axis
    if axis is None or axis == value.ndim - 1:
        return value
    return move_axis(value, axis, value.ndim - 1)


def _stored_dimensions(dtype: Any) -> tuple[int, ...]:
    return dtype.physical_shape if isinstance(dtype, dtypes.ExtendedDType) else ()


def _stored_dtype(param: tuple[int, ...] | int | None) -> tuple[int, ...] | int | None:
    """A parameter that is an extended dtype becomes the dtype that stores it."""
    return param.physical_dtype if isinstance(param, dtypes.ExtendedDType) else param
