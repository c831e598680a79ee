"""``reshard``, ``auto_axes`` and ``explicit_axes``: arrays laid out anew, and who decides how results lie."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

from rabbet import Array, device_put, tree
from rabbet.errors import ShardingError
from rabbet.extend.functions import describe_function, folded
from rabbet.extend.sharding import part_of
from rabbet.extend.transform import is_tracer, typeof
from rabbet.extend.wrapping import wraps

from rabbet_parallel.constraints import concrete_mesh, hidden, with_sharding_constraint
from rabbet_parallel.constraints import reshard as retyped
from rabbet_parallel.current_mesh import mesh_in_use, needed_mesh, placing, use_mesh
from rabbet_parallel.explicit_sharding import Explicit, entries_of, explicit_entries
from rabbet_parallel.meshes import AbstractMesh, AxisType, HiddenMesh, current
from rabbet_parallel.named_sharding import NamedSharding
from rabbet_parallel.partition_spec import PartitionSpec, names_in

if TYPE_CHECKING:
    from rabbet.typing import Value


def reshard(xs: Value, out_shardings: Any) -> Any:
    """``xs`` laid over devices as asked.

    Args:
      xs: a pytree of arrays.
      out_shardings: a ``Sharding``, a ``PartitionSpec`` on the mesh of ``set_mesh``, or a prefix of ``xs``
        with these and None, which asks for nothing.

    Raises:
      ValueError: for a dimension that cannot be cut into equal parts; names its size.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P, reshard
      >>> rows = NamedSharding(rb.make_mesh((1,), ("x",)), P("x"))
      >>> reshard(np.ones((4, 2), np.float32), rows).sharding == rows
      True
    """
    return with_sharding_constraint(xs, out_shardings)


def auto_axes(f: Any = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """A function within which the compiler decides how values lie; its results lie as asked.

    Args:
      f: takes and returns pytrees of arrays.
      axes: the axes of the mesh to leave to the compiler, by default all. Axes of type ``Auto`` are left to
        it in any case; the types of values say the others within ``f``, too.
      out_sharding: for the results: a ``Sharding``, a ``PartitionSpec`` on the mesh of ``set_mesh``, or a
        prefix of the result with these. It may also be given where the function is called.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P, auto_axes
      >>> rows = NamedSharding(rb.make_mesh((1,), ("x",)), P("x"))
      >>> auto_axes(lambda x: x * 2.0, out_sharding=rows)(np.ones(2, np.float32)).sharding == rows
      True
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @wraps(f)
    @folded
    def call(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        if out_sharding is None:
            raise TypeError(
                f"auto_axes of {describe_function(f)}: give out_sharding, there or in the call: how "
                f"results lie"
            )
        left = None if axes is None else frozenset(names_in(axes))
        args, kwargs = tree.map(lambda x: hidden_leaf(x, left), (args, kwargs))
        mesh = mesh_in_use()
        with contextlib.nullcontext() if mesh is None else within_auto_axes(with_auto(mesh, left)):
            out = f(*args, **kwargs)
        return with_sharding_constraint(out, out_sharding)

    return call


class within_auto_axes(use_mesh):
    """``use_mesh`` of a mesh some of whose axes are of type ``Auto`` for a while: arrays on the mesh itself
    may stand in operations there.
    """

    def __enter__(self) -> Any:
        if isinstance(self.mesh, AbstractMesh) or self.mesh.explicit_axes:
            return super().__enter__()
        self.override = current.within(
            self.mesh, **placing(HiddenMesh(self.mesh.devices, self.mesh.axis_names))
        )
        return self.mesh


def with_auto(mesh: Any, axes: Any) -> Any:
    """A mesh of which these axes are of type ``Auto``; None: all.

    Raises:
      ShardingError: for an axis that it does not have.
    """
    axes = frozenset(mesh.axis_names).difference(mesh.manual_axes) if axes is None else axes
    if not axes <= set(mesh.axis_names):
        unknown = ", ".join(sorted(map(repr, axes - set(mesh.axis_names))))
        raise ShardingError(f"auto_axes: {unknown} is not an axis of {mesh}")
    named = zip(mesh.axis_names, mesh.axis_types, strict=True)
    return mesh.update(axis_types=tuple([AxisType.Auto if n in axes else t for n, t in named]))


def hidden_leaf(x: Any, axes: Any) -> Any:
    """An array of whose layout along these axes its type says nothing (None: along all); anything else as it
    is.
    """
    spread = part_of(typeof(x).spread, Explicit) if is_tracer(x) or isinstance(x, Array) else None
    if spread is None:
        return x if is_tracer(x) or not isinstance(x, Array) else of_auto_axes(x, axes)
    mesh = with_auto(spread.mesh, axes)
    if not mesh.explicit_axes:
        return hidden(x, spread)
    on = concrete_mesh(mesh, x)
    if on is None:
        return retyped(x, mesh=mesh, entries=explicit_entries(mesh, spread.entries))
    return with_sharding_constraint(x, NamedSharding(on, PartitionSpec(*spread.entries)))


def of_auto_axes(x: Any, axes: Any) -> Any:
    """An array that no explicit axis cuts, on its mesh with these axes of type ``Auto`` (None: all)."""
    own = x.sharding
    if type(own) is not NamedSharding or not own.mesh.explicit_axes:
        return x
    mesh = with_auto(own.mesh, axes)
    return device_put(x, own.update(mesh=mesh)) if mesh.explicit_axes else hidden(x, None)


def explicit_axes(f: Any = None, /, *, axes: Any = None, in_sharding: Any = None) -> Any:
    """A function within which the axes of the mesh are of type ``Explicit``: types say how values lie.

    Args:
      f: takes and returns pytrees of arrays.
      axes: the axes of the mesh of ``set_mesh``, by default all.
      in_sharding: for the arguments: a ``PartitionSpec``, a ``NamedSharding``, or a prefix of the tuple of
        arguments with these. It may be given when the function is called, too.

    Returns:
      a function of the same arguments; its results lie as their types say, on the mesh that is set.

    Example:
      >>> from rabbet.sharding import PartitionSpec as P, explicit_axes
      >>> with rb.set_mesh(rb.make_mesh((1,), ("x",))):
      ...     f = explicit_axes(lambda x: print(rb.typeof(x).str_short()) or x * 2.0, in_sharding=P("x"))
      ...     print(f(np.ones(4, np.float32)))
      f32[4@x]
      [2. 2. 2. 2.]
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)

    first = in_sharding

    @wraps(f)
    @folded
    def call(*args: Any, in_sharding: Any = None) -> Any:
        in_sharding = first if in_sharding is None else in_sharding
        if in_sharding is None:
            raise TypeError(f"explicit_axes of {describe_function(f)}: give in_sharding: how arguments lie")
        mesh = needed_mesh(f"explicit_axes of {describe_function(f)}: in_sharding", in_sharding)
        chosen = set(mesh.axis_names if axes is None else names_in(axes))
        named = zip(mesh.axis_names, mesh.axis_types, strict=True)
        types = [AxisType.Explicit if n in chosen else t for n, t in named]
        on = mesh.update(axis_types=tuple(types))
        names = ("explicit_axes: in_sharding", "the arguments")
        specs = tree.broadcast_prefix(in_sharding, args, names=names)
        leaves, structure = tree.flatten(args)
        laid = [
            with_sharding_constraint(x, NamedSharding(on, s.spec if isinstance(s, NamedSharding) else s))
            for x, s in zip(leaves, specs, strict=True)
        ]
        with use_mesh(on):
            out = f(*structure.unflatten(laid))
        return tree.map(lambda x: back_on(mesh, x), out)

    return call


def back_on(mesh: Any, x: Any) -> Any:
    """``x`` laid out as its type says, on a mesh with other types of axes."""
    return with_sharding_constraint(x, NamedSharding(mesh, PartitionSpec(*entries_of(typeof(x)))))


__all__ = ["auto_axes", "explicit_axes", "reshard"]
