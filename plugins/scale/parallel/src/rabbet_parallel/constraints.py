"""``with_sharding_constraint``: a value within a program laid out as told."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from rabbet import Array, device_put, tree
from rabbet.errors import ShardingError
from rabbet.extend.bodies import PLAIN, put_together, take_apart
from rabbet.extend.dtype import lowers_stored
from rabbet.extend.functions import is_evaluating, obey_sharding
from rabbet.extend.primitive import Batched, Primitive
from rabbet.extend.sharding import part_of, with_part
from rabbet.extend.transform import is_tracer, typeof
from rabbet.extend.wrapping import stacklevel

from rabbet_parallel.addends_lowering import as_sum
from rabbet_parallel.current_mesh import mesh_in_use
from rabbet_parallel.explicit_sharding import Explicit, entries_of, mesh_of, with_entries
from rabbet_parallel.meshes import AbstractMesh, HiddenMesh, Mesh, current
from rabbet_parallel.named_sharding import NamedSharding, as_sharding, with_devices
from rabbet_parallel.operations import provides
from rabbet_parallel.partition_spec import UNCONSTRAINED, PartitionSpec, axes_of, names_in
from rabbet_parallel.unreduced_sums import Addends, unreduced_of, with_axes

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op
    from rabbet.extend.rules import Site
    from rabbet.typing import Value


def sharding_constraint_type(x: Any, *, sharding: Any) -> Any:
    sharding.check(x.shape)  # ``constrained`` has left out what does not divide
    told = sharding.in_types(x.ndim)
    spread = with_part(x.spread, Explicit, part_of(told, Explicit))
    return x.update(spread=with_part(spread, Addends, part_of(told, Addends)))


sharding_constraint = Primitive(
    "sharding_constraint", sharding_constraint_type, kinds=("linear", "shapeless"), place="sharding",
    doc="the operand, laid over devices by a sharding",
)  # fmt: skip


sharding_constraint.rule("extended")(lowers_stored)  # of typed keys: what only their storage has is whole


@sharding_constraint.rule("lower")
def lower_sharding_constraint(op, x):
    x = as_sum(op, x)
    if unreduced_of(op.out):
        return x  # what the type says is written behind it
    return op.emit(
        f"sdy.sharding_constraint {x} <{op.params['sharding'].text(op.out.physical.ndim)}> : {op.out.mlir}"
    )


@sharding_constraint.rule("transpose")
def transpose_sharding_constraint(op, ct, x):
    spec = op.params["sharding"].spec
    if spec.unreduced or spec.reduced:  # of a value as its variable's type says
        return (ct,)
    return (op(ct),)


@sharding_constraint.rule("body")
def body_sharding_constraint(op: Op, interpreter: Any, args: Any) -> Any:
    """The leaves of any payload laid out as the value; a dimension that the interpreter adds as it says."""
    sharding, ndim = op.params["sharding"], typeof(args[0]).ndim
    leaves, structures = take_apart(interpreter, args)
    (structure,) = structures
    axis = None if structure is PLAIN else interpreter.added_dimension(structure)
    entries = list(sharding.entries(ndim))
    if axis is not None:
        over = interpreter.added_over
        entries.insert(axis, added_entry(leaves, axis, sharding.mesh, entries) if over is None else over)
    wanted = sharding.with_spec(PartitionSpec(*entries))
    laid = [constrained(x, wanted) if typeof(x).ndim == len(entries) else x for x in leaves]
    return put_together(interpreter, structures, laid)[0]


def added_entry(leaves: Any, axis: int, mesh: Any, entries: Any) -> Any:
    """How a dimension lies that an interpreter adds beside those of ``entries``: as it does in the values'
    types, and if these say nothing the compiler decides along axes of type ``Auto``.
    """
    taken = {name for e in entries if e is not UNCONSTRAINED for name in names_in(e)}
    for aval in map(typeof, leaves):
        if aval.ndim == len(entries) + 1 and mesh_of(aval) == mesh.abstract_mesh:
            own = entries_of(aval)[axis]
            if own is not None and taken.isdisjoint(names_in(own)):
                return own
    return UNCONSTRAINED if mesh.auto_axes else None


to_auto = Primitive(
    "to_auto", lambda x: x, kinds=("linear",),
    doc="the operand, of whose layout its type says nothing",
)  # fmt: skip


@to_auto.rule("lower")
def lower_to_auto(op: Site, x: Any) -> Any:
    return x


@to_auto.rule("transpose")
def transpose_to_auto(op: Op, ct: Any, x: Any) -> Any:
    return (ct,)


@to_auto.rule("batch")
def batch_to_auto(op: Op, x: Any) -> Any:
    return Batched(op(x.value), x.axis)


def addends_type(x, *, mesh, unreduced, reduced):
    return with_axes(x, mesh, unreduced, reduced)


to_addends = Primitive(
    "to_addends", addends_type, kinds=("linear",),
    doc="the operand, along these axes a sum that is not added up",
)  # fmt: skip


@to_addends.rule("addends")
def addends_as_told(op, *axes):
    """Its type says it."""


@to_addends.rule("lower")
def lower_to_addends(op, x):
    return as_sum(op, x)  # what the result's type says is written behind it


@to_addends.rule("transpose")
def transpose_to_addends(op, ct, x):
    return (ct,)


@to_addends.rule("batch")
def batch_to_addends(op, x):
    return Batched(op(x.value), x.axis)


@provides
def as_addends(x, mesh, unreduced, reduced):
    """A value of a type with these axes. Of an array that becomes a sum the first device has all."""
    if not is_evaluating():
        return to_addends(x, mesh=mesh, unreduced=unreduced, reduced=reduced)
    concrete = concrete_mesh(mesh, x)
    if concrete is None:
        return x
    sums, said = frozenset(unreduced), frozenset(reduced)
    spec = PartitionSpec(*entries_of(typeof(x)), unreduced=sums, reduced=said)
    return device_put(x, NamedSharding(concrete, spec))


def reshard_type(x, *, mesh, entries):
    return with_entries(x, mesh, entries)


reshard = Primitive(
    "reshard", reshard_type, kinds=("linear",),
    doc="the operand, cut by explicit axes as the entries say",
)  # fmt: skip


join_mesh = Primitive(
    "join_mesh", reshard_type, kinds=("linear",),
    doc="``reshard`` of an operand that lies on the same mesh, or on none",
)  # fmt: skip


@reshard.rule("lower")
@join_mesh.rule("lower")
def lower_reshard(op: Site, x: Any) -> Any:
    return x  # what the result's type says is written behind it


@reshard.rule("transpose")
@join_mesh.rule("transpose")
def transpose_reshard(op: Op, ct: Any, x: Any) -> Any:
    return (ct,)


@reshard.rule("batch")
@join_mesh.rule("batch")
def batch_reshard(op: Op, x: Any) -> Any:
    entries, mesh = list(op.params["entries"]), op.params["mesh"]
    added = added_entry([x.value], x.axis, mesh, entries)
    entries.insert(x.axis, None if added is UNCONSTRAINED else added)
    return Batched(op.primitive(x.value, mesh=mesh, entries=tuple(entries)), x.axis)


@provides
def hidden(x: Any, spread: Any) -> Any:
    """``x`` as a value whose layout the compiler decides: an array on the same mesh with ``Auto`` axes."""
    if not is_evaluating():
        return to_auto(x)
    mesh = x.sharding.mesh
    return device_put(x, NamedSharding(HiddenMesh(mesh.devices, mesh.axis_names), x.sharding.spec))


@provides
def revealed(x: Any, mesh: Any) -> Any:
    """An array on a mesh that ``hidden`` made, whole on one whose axes are of the types of ``mesh``."""
    own = getattr(getattr(x, "sharding", None), "mesh", None)
    if type(x) is not Array or not isinstance(own, Mesh) or own.explicit_axes or not is_evaluating():
        return x
    concrete = with_devices(mesh, own)
    whole = PartitionSpec(*[None] * x.ndim)
    return x if concrete is None else device_put(x, NamedSharding(concrete, whole))


@provides
def laid_out(x: Any, mesh: Any, entries: Any, joins: bool = False) -> Any:
    """``x`` cut by explicit axes of an ``AbstractMesh`` as the entries say; with ``joins`` it may not lie on
    another mesh.
    """
    if not is_evaluating():
        return (join_mesh if joins else reshard)(x, mesh=mesh, entries=entries)
    concrete = concrete_mesh(mesh, x)
    return x if concrete is None else device_put(x, NamedSharding(concrete, PartitionSpec(*entries)))


def concrete_mesh(mesh: Any, x: Any) -> Any:
    """The mesh with devices: that of an array, or the one that is set."""
    return with_devices(mesh, getattr(getattr(x, "sharding", None), "mesh", None) or mesh_in_use())


def on_devices(sharding: Any, x: Any) -> Any:
    """A sharding on an ``AbstractMesh`` as one on the devices of the mesh that is set, or that ``x`` lies on.

    Raises:
      ShardingError: where there is no such mesh, or it has other axes.
    """
    concrete = concrete_mesh(sharding.mesh, x)
    if concrete is None:
        raise ShardingError(
            f"with_sharding_constraint: {sharding} names no devices, and no mesh of these axes is set\n"
            "  to fix: rb.set_mesh(mesh) around the call, or give a NamedSharding on a Mesh"
        )
    return sharding.update(mesh=concrete)


@provides
def constrained(x: Any, sharding: Any) -> Any:
    """``x``, an array or a tracer, laid out by a ``NamedSharding`` as an operation.

    Raises:
      ShardingError: within ``shard_map``, for an axis over which it takes arrays apart.
    """
    mesh = sharding.mesh.taken_apart(current.manual)
    for name in axes_of(sharding.spec):
        if name in mesh.manual_axes:
            raise ShardingError(
                f"with_sharding_constraint: {sharding.spec} names the axis {name!r}, over which the "
                f"shard_map around takes arrays apart: each device has its part of {typeof(x).str_short()}"
                "\n  to fix: name axes that axis_names leaves out, or exchange parts with a collective, as "
                "lax.all_to_all"
            )
    sharding = sharding if mesh is sharding.mesh else sharding.update(mesh=mesh)
    sharding = divided(sharding, typeof(x))
    for first in sharding.before(typeof(x)):
        x = sharding_constraint(x, sharding=first)
    return sharding_constraint(x, sharding=sharding)


@provides
def constraints_for(aval: Any, sharding: Any) -> list:
    """The operators that lay a value of type ``aval`` out by a ``NamedSharding``, one after another."""
    return [sharding_constraint.op(sharding=each) for each in [*sharding.before(aval), sharding]]


class UnevenSharding(UserWarning):
    """A constraint within a program cuts a dimension into parts that are not equal, and is left out there."""


def divided(sharding: Any, aval: Any) -> Any:
    """A sharding without axes of type ``Auto`` that do not divide a dimension evenly, as the compiler would
    leave them out; it says so.
    """
    mesh, made = sharding.mesh, []
    for size, entry in zip(aval.shape, sharding.entries(aval.ndim), strict=True):
        names, count = [], 1
        for name in names_in(entry):
            count *= mesh.shape[name]
            if isinstance(size, int) and size % count and name in mesh.auto_axes:
                break
            names.append(name)
        made.append(entry if len(names) == len(names_in(entry)) else tuple(names))
    if tuple(made) == tuple(sharding.entries(aval.ndim)):
        return sharding
    fitting = PartitionSpec(*made)
    warnings.warn(
        f"with_sharding_constraint: {sharding.spec} cuts {aval.str_short()} into parts that are not equal on "
        f"{mesh}; the axes that do not divide are left out, {fitting}",
        UnevenSharding, stacklevel=stacklevel(),
    )  # fmt: skip
    return sharding.with_spec(fitting)


def with_sharding_constraint(x: Value, shardings: Any) -> Any:
    """``x`` laid over devices as asked, within a program or at once.

    Args:
      x: a pytree of arrays.
      shardings: a ``Sharding``, a ``PartitionSpec`` on the mesh of ``set_mesh``, or a prefix of ``x`` with
        these and None, which asks for nothing. A dimension may be ``PartitionSpec.UNCONSTRAINED``.

    Returns:
      ``x`` with the same values. Derivatives are laid out alike.

    Raises:
      ValueError: for a dimension that cannot be cut into equal parts; names its size. Within a program axes
        of type ``Auto`` that do not divide a dimension are left out with a warning, ``UnevenSharding``.
      ShardingError: for a spec where no mesh is set.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> rows = NamedSharding(rb.make_mesh((1,), ("x",)), P("x"))
      >>> f = rb.jit(lambda x: lax.with_sharding_constraint(2.0 * x, rows))
      >>> f(np.ones((4, 2), np.float32)).sharding.is_equivalent_to(rows, 2)
      True
    """
    if shardings is None:
        raise ValueError(
            "with_sharding_constraint: shardings is None, which asks for nothing; leave the call out, or "
            "give PartitionSpec() to bring everything together"
        )
    given = tree.broadcast_prefix(
        shardings, x, lambda node: node is None, names=("with_sharding_constraint: shardings", "x")
    )
    leaves, structure = tree.flatten(x)
    return structure.unflatten([_one(leaf, sharding) for leaf, sharding in zip(leaves, given, strict=True)])


def _one(x: Any, sharding: Any) -> Any:
    if sharding is None:
        return x
    if not isinstance(sharding, NamedSharding) or is_tracer(x):  # an array's own mesh comes first
        sharding = as_sharding(sharding, "with_sharding_constraint: shardings", entered=True)
    if not isinstance(sharding, NamedSharding):
        return obey_sharding("with_sharding_constraint", x, sharding, "shardings")
    if is_tracer(x):
        laid = constrained(x, sharding)
        return laid if sharding.other_memory is None else sharding.moved(laid)
    if isinstance(sharding.mesh, AbstractMesh):
        sharding = on_devices(sharding, x)
    if UNCONSTRAINED in sharding.spec:
        if isinstance(x, Array) and x.sharding.device_set == sharding.device_set:
            return x
        whole = [None if e is UNCONSTRAINED else e for e in sharding.spec]
        sharding = sharding.with_spec(PartitionSpec(*whole))
    missing = typeof(x).ndim - len(sharding.spec)
    if missing > 0 and sharding.mesh.explicit_axes:  # as the types of arrays say it
        spec = sharding.spec
        more = PartitionSpec(*spec, *[None] * missing, unreduced=spec.unreduced, reduced=spec.reduced)
        sharding = sharding.with_spec(more)
    return device_put(x, sharding)


__all__ = ["constrained", "sharding_constraint", "with_sharding_constraint"]
