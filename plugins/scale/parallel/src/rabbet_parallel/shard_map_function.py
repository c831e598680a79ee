"""``shard_map`` and ``smap``: a function that each device runs on its parts of arrays."""

from __future__ import annotations

import collections
import contextlib
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rabbet import device_put, tree
from rabbet.errors import ShardingError
from rabbet.extend.cells import Cell
from rabbet.extend.functions import (
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    folded,
    is_array_like,
    is_evaluating,
)
from rabbet.extend.passes import consts_as_inputs, stage
from rabbet.extend.transform import bind_axes, context, is_tracer, typeof
from rabbet.extend.wrapping import name_of, wraps
from rabbet_collectives.varying import axes_of as axes_of_type
from rabbet_collectives.varying import axes_of_devices

from rabbet_parallel.current_mesh import mesh_in_use, mesh_that_is_set
from rabbet_parallel.explicit_sharding import entries_along, entries_of
from rabbet_parallel.local_shapes import (
    check_rank,
    check_sizes,
    check_spec,
    check_sums,
    entries,
    local_type,
    unmentioned,
)
from rabbet_parallel.meshes import AbstractMesh, Mesh, current
from rabbet_parallel.named_sharding import NamedSharding, with_devices
from rabbet_parallel.partition_spec import PartitionSpec, axes_of
from rabbet_parallel.shard_map_cells import call_with_cells
from rabbet_parallel.shard_map_primitive import shard_map as shard_map_primitive
from rabbet_parallel.shard_map_values import Values
from rabbet_parallel.unreduced_sums import reduced_of, unreduced_of
from rabbet_parallel.varying_axes import varying_outputs

if TYPE_CHECKING:
    from collections.abc import Callable

# What eager calls made last is kept, so that an equal program is not compiled again.
_recent: collections.deque = collections.deque(maxlen=128)


def shard_map(
    f: Any = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = None,
    mesh: Any = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
) -> Any:
    """A function that each device of a mesh runs on its parts of the arguments; collectives such as
    ``lax.psum`` communicate along the mesh's axes.

    Args:
      f: takes and returns pytrees of arrays: the parts of one device.
      in_specs: how arguments are taken apart: a ``PartitionSpec`` or None (whole), or a prefix of the tuple
        of arguments with these. Over axes of type ``Explicit`` it may be left out, since the types of
        arguments say it, and a spec that says otherwise is an error.
      out_specs: how results are put together, in the same way. An axis that a spec leaves out is one over
        which the devices hold the same value.
      mesh: a ``Mesh``, or an ``AbstractMesh`` like that of the arguments; by default that of ``set_mesh``, or
        of the ``shard_map`` around.
      axis_names: the axes over which arrays are taken apart, by default all, within another ``shard_map`` all
        that it leaves; others stay the compiler's.
      check_vma: refuse results that may differ over an axis that their spec leaves out, and collectives that
        some devices may not come to.

    Returns:
      a function of the same arguments. Called outside of ``jit`` it is traced at each call.

    Raises:
      ShardingError: for specs that do not fit the mesh or the arrays; names the argument and the sizes.

    Example:
      >>> from rabbet.sharding import PartitionSpec as P
      >>> mesh = rb.make_mesh((1,), ("x",))
      >>> total = rb.shard_map(lambda x: lax.psum(x.sum(), "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
      >>> float(total(np.arange(4, dtype=np.float32)))
      6.0
    """
    if f is None:
        return functools.partial(
            shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names,
            check_vma=check_vma,
        )  # fmt: skip
    if not callable(f):
        raise TypeError(f"shard_map takes a function, got {type(f).__name__}: {f!r:.60}")
    mapped = Mapped(f, mesh, in_specs, out_specs, axis_names, check_vma)

    @wraps(f)
    @folded
    def call(*args: Any) -> Any:
        return mapped.call(*args)

    return call


class Mapped:
    """Behind the function that ``shard_map`` returns."""

    def __init__(
        self, f: Any, mesh: Any, in_specs: Any, out_specs: Any, axis_names: Any, check_vma: Any
    ) -> None:
        self.f, self.mesh, self.axis_names, self.check_vma = f, mesh, axis_names, check_vma
        self.in_specs, self.out_specs = in_specs, out_specs
        self.name = name_of(f)
        self.who = f"shard_map of {describe_function(f)}"

    def where(self, args: Any) -> Any:
        """The mesh, and the axes over which arrays are taken apart."""
        mesh = mesh_that_is_set() if self.mesh is None else self.mesh
        if isinstance(mesh, AbstractMesh):  # the devices of the mesh that is set, or else of an argument
            own = [getattr(getattr(x, "sharding", None), "mesh", None) for x in tree.leaves(args)]
            there = [with_devices(mesh, m) for m in (mesh_in_use(), *own) if isinstance(m, Mesh)]
            mesh = next((m for m in there if m is not None), mesh)
        if not isinstance(mesh, Mesh) and (is_evaluating() or not isinstance(mesh, AbstractMesh)):
            raise ShardingError(f"{self.who}: give a Mesh, or set one with rb.set_mesh; got {mesh!r:.60}")
        names = {self.axis_names} if isinstance(self.axis_names, str) else set(self.axis_names)
        unknown = names - set(mesh.axis_names)
        if unknown:
            raise ShardingError(f"{self.who}: axis_names has {sorted(unknown)}, and the mesh is {mesh}")
        mesh = mesh.taken_apart(current.manual)  # by a shard_map around
        left = [n for n in mesh.axis_names if n not in current.manual]
        return mesh, tuple([n for n in mesh.axis_names if n in (names or left)])

    def specs(self, given: Any, x: Any, what: Any, mesh: Any, manual: Any) -> Any:
        """A spec for each leaf of ``x``."""
        found = tree.broadcast_prefix(
            given, x, lambda node: node is None, names=(f"{self.who}: {what}", "the " + WORDS[what])
        )
        made = []
        for spec in found:
            spec = PartitionSpec() if spec is None else spec
            if not isinstance(spec, PartitionSpec):
                raise TypeError(f"{self.who}: {what} holds PartitionSpecs and None, got {spec!r:.60}")
            check_spec(spec, mesh, manual, f"{self.who}: {what}")
            made.append(spec)
        return made

    def call(self, *args: Any) -> Any:
        """The mapped function."""
        mesh, manual = self.where(args)
        leaves, in_tree = tree.flatten(args)
        if any(isinstance(x, Cell) for x in leaves):
            return call_with_cells(self, args, leaves, in_tree)
        if self.in_specs is not None and not all(is_array_like(x) for x in leaves):
            return self.with_objects(args, leaves, in_tree)
        leaves = convert_leaves(
            array_or_tracer,
            leaves,
            lambda i, x: f"{self.who}: argument leaf {i} is not an array: {describe_value(x)}",
        )
        in_specs = self.of_arguments(args, leaves, mesh, manual)
        for i, (x, spec) in enumerate(zip(leaves, in_specs, strict=True)):
            who = f"{self.who}: the spec of argument leaf {i},"
            check_rank(spec, typeof(x), who)
            check_sizes(spec, typeof(x), mesh, who)
        jaxpr, consts, out_tree = self.traced(leaves, in_tree, in_specs, mesh, manual)
        self.refuse_captured(consts, manual)
        out_specs = self.of_results(jaxpr, out_tree, mesh, manual)
        in_specs = [*[PartitionSpec()] * len(consts), *in_specs]
        if self.check_vma:
            self.refuse_differing(jaxpr, in_specs, out_specs, mesh, manual)
        params = self.params(mesh, manual, in_specs)
        op = shard_map_primitive.op(jaxpr=jaxpr, out_specs=tuple(out_specs), **params)
        operands = [*consts, *leaves]
        if is_evaluating():
            _recent.append(op)
        if is_evaluating(alone=True):
            operands = [placed(x, mesh, spec) for x, spec in zip(operands, in_specs, strict=True)]
        outs = op(*operands)
        if is_evaluating():
            outs = [as_written(x, NamedSharding(mesh, s)) for x, s in zip(outs, out_specs, strict=True)]
        return tree.unflatten(out_tree, outs)

    def with_objects(self, args: Any, leaves: Any, in_tree: Any) -> Any:
        """The call where arguments hold what is no array and ``in_specs`` gives None: that is handed to the
        function as it is, and the rest is mapped.
        """
        given = tuple(self.in_specs) if isinstance(self.in_specs, list) else self.in_specs
        is_none = lambda node: node is None
        names = (f"{self.who}: in_specs", "the arguments")
        specs = tree.broadcast_prefix(given, args, is_none, names=names)
        taken = [i for i, s in enumerate(specs) if s is not None or is_array_like(leaves[i])]
        if not any(s is None for i, s in enumerate(specs) if not is_array_like(leaves[i])):
            taken = list(range(len(leaves)))

        def rest(*arrays: Any) -> Any:
            whole = list(leaves)
            for i, x in zip(taken, arrays, strict=True):
                whole[i] = x
            return self.f(*tree.unflatten(in_tree, whole))

        if len(taken) == len(leaves):
            bad = next(i for i, x in enumerate(leaves) if not is_array_like(x))
            raise TypeError(
                f"{self.who}: argument leaf {bad} is not an array: {describe_value(leaves[bad])}; give "
                "None in in_specs for a value that is passed to the function unchanged"
            )
        in_specs = tuple([specs[i] for i in taken])
        return self.of(rest, in_specs, self.out_specs).call(*[leaves[i] for i in taken])

    def of(self, f: Any, in_specs: Any, out_specs: Any) -> Mapped:
        """The same for a function that stands for this one's."""
        mapped = Mapped(f, self.mesh, in_specs, out_specs, self.axis_names, self.check_vma)
        mapped.name, mapped.who = self.name, self.who
        return mapped

    def of_arguments(self, args: Any, leaves: Any, mesh: Any, manual: Any) -> Any:
        """The specs of arguments: as given, or as their types say."""
        by_types = set(manual) <= set(mesh.explicit_axes)
        said = lambda x: said_by_type(typeof(x), manual)
        if self.in_specs is None:
            if not by_types:
                raise ShardingError(
                    f"{self.who}: give in_specs, with P() for arguments that are whole; only over axes of "
                    "type Explicit may they be left out"
                )
            return [said(x) for x in leaves]
        given = tuple(self.in_specs) if isinstance(self.in_specs, list) else self.in_specs
        specs = self.specs(given, args, "in_specs", mesh, manual)
        for i, (x, spec) in enumerate(zip(leaves, specs, strict=True) if by_types else ()):
            own, ndim = said(x), typeof(x).ndim
            told = [(entries(s, ndim), s.unreduced, s.reduced) for s in (spec, own)]
            if not axes_of_type(typeof(x)) and told[0] != told[1]:
                raise ShardingError(
                    f"{self.who}: in_specs cuts argument leaf {i} as {spec}, but by its type its sharding "
                    f"is {own}, {typeof(x).str_short()}\n  to fix: move it before, "
                    f"rb.reshard(x, {spec}), or leave in_specs out"
                )
        return specs

    def refuse_captured(self, consts: Any, manual: Any) -> None:
        """Raise NotImplementedError for a captured array that is cut along an axis that is taken apart."""
        for x in consts:
            if any(entries_along(manual, entries_of(typeof(x)))):
                raise NotImplementedError(
                    f"{self.who}: it captures {typeof(x).str_short()}, which is cut along axes that are "
                    "taken apart here\n  to fix: make it an argument with a spec"
                )

    def traced(self, leaves: Any, in_tree: Any, in_specs: Any, mesh: Any, manual: Any) -> Any:
        """The program on parts, what it captured, and the structure of its result."""
        out_tree, outside = None, context.interpreter
        values = None
        if is_evaluating(alone=True):
            operands = [placed(x, mesh, spec) for x, spec in zip(leaves, in_specs, strict=True)]
            values = functools.partial(Values, params=self.params(mesh, manual, in_specs), operands=operands)

        def flat(*tracers: Any) -> Any:
            nonlocal out_tree
            if values is not None:
                context.interpreter.values = values(context.interpreter, outside=outside)
            outs, out_tree = tree.flatten(self.f(*tree.unflatten(in_tree, list(tracers))))
            return convert_leaves(
                array_or_tracer,
                outs,
                lambda i, x: f"{self.who} must return arrays, result leaf {i} is {describe_value(x)}",
            )

        typed = self.check_vma
        local = [local_type(typeof(x), mesh, s, manual, typed) for x, s in zip(leaves, in_specs, strict=True)]
        axes = [(n, mesh.shape[n]) for n in manual]
        with bind_axes(axes_of_devices(axes, typed)), as_current(mesh, manual):
            closed = stage(flat, local, self.name)
        return consts_as_inputs(closed), list(closed.consts), out_tree

    def params(self, mesh: Any, manual: Any, in_specs: Any) -> dict:
        """What all ``shard_map`` of this call have among their parameters."""
        return {
            "mesh": mesh, "manual": manual, "in_specs": tuple(in_specs), "name": self.name,
            "sharding": NamedSharding(mesh, PartitionSpec()), "typed": self.check_vma,
        }  # fmt: skip

    def of_results(self, jaxpr: Any, out_tree: Any, mesh: Any, manual: Any) -> Any:
        """The specs of results."""
        places = tree.unflatten(out_tree, list(range(len(jaxpr.outvars))))
        found = self.specs(self.out_specs, places, "out_specs", mesh, manual)
        for i, (aval, spec) in enumerate(zip(jaxpr.out_avals, found, strict=True)):
            check_rank(spec, aval, f"{self.who}: the spec of result leaf {i}")
            if self.check_vma:
                check_sums(spec, aval, manual, f"{self.who}: result leaf {i}")
        return found

    def refuse_differing(self, jaxpr: Any, in_specs: Any, out_specs: Any, mesh: Any, manual: Any) -> None:
        """Refuse results that may differ over an axis that their spec leaves out."""
        ins = [frozenset(axes_of(spec)) for spec in in_specs]
        outs = varying_outputs(jaxpr, ins, frozenset(manual))
        for i, (found, spec) in enumerate(zip(outs, out_specs, strict=True)):
            missing = [n for n in unmentioned(spec, mesh, manual) if n in found]
            if missing:
                names = ", ".join(map(repr, missing))
                raise ShardingError(
                    f"{self.who}: result leaf {i} may differ between devices along {names}, and its spec "
                    f"{spec} says that it does not\n  to fix: name the axis in out_specs, make the devices "
                    "agree (lax.psum, lax.pmean, lax.all_gather), or give check_vma=False if they agree "
                    "anyway"
                )


def said_by_type(aval: Any, manual: Any) -> PartitionSpec:
    """The spec that the type of an argument says, along the axes that are taken apart."""
    sums, said = [axes.intersection(manual) for axes in (unreduced_of(aval), reduced_of(aval))]
    return PartitionSpec(*entries_along(manual, entries_of(aval)), unreduced=sums, reduced=said)


WORDS = {"in_specs": "arguments", "out_specs": "result"}


def placed(x: Any, mesh: Any, spec: Any) -> Any:
    """An argument of an eager call over the devices, if it is not committed to others."""
    if is_tracer(x) or getattr(x, "committed", False):  # what the function captured may be one of NumPy's
        return x
    return device_put(x, NamedSharding(mesh, spec))


def as_written(x: Any, wanted: Any) -> Any:
    """A result with the spec that was written, where its own says the same in fewer words: without a None at
    the end, or without an axis of one device.
    """
    if is_tracer(x) or x.sharding == wanted or not x.sharding.is_equivalent_to(wanted, x.ndim):
        return x
    return device_put(x, wanted)


@contextlib.contextmanager
def as_current(mesh: Any, manual: Any) -> Iterator[Any]:
    """``mesh`` as the one that is meant where none is named, with these axes taken apart."""
    around = current.manual
    within = None if current.innermost == mesh else current.within(mesh)
    current.manual = around.union(manual)
    try:
        yield
    finally:
        current.manual = around
        if within is not None:
            within.__exit__()


def smap(f: Callable[..., Any] | None = None, /, *, in_axes: Any = ..., out_axes: Any, axis_name: Any) -> Any:
    """``shard_map`` over one axis of the mesh of ``set_mesh``, with dimensions in the place of specs.

    Args:
      f: takes and returns pytrees of arrays, on each device its parts.
      in_axes: which dimension of each argument is taken apart, None for whole ones; an int, from the end if
        it is negative, or a prefix of the tuple of arguments. Over an axis of type ``Explicit`` it may be
        left out, since types say it.
      out_axes: along which dimension results are put together, None for what is the same on each device.
      axis_name: the axis of the mesh.

    Example:
      >>> with rb.set_mesh(rb.make_mesh((1,), ("x",))):
      ...     total = rb.smap(lambda x: lax.psum(x.sum(), "x"), in_axes=0, out_axes=None, axis_name="x")
      ...     print(float(total(np.arange(4, dtype=np.float32))))
      6.0
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    def spec(axis: Any) -> Any:
        if axis is None:
            return PartitionSpec()
        if axis < 0:
            raise ValueError(f"smap of {describe_function(f)}: out_axes count from the front, got {axis}")
        return PartitionSpec(*[None] * axis, axis_name)

    is_none = lambda node: node is None
    to_specs = lambda axes: tree.map(spec, axes, is_leaf=is_none)
    if in_axes is not ... and any(a is not None and a < 0 for a in tree.leaves(in_axes, is_leaf=is_none)):

        @wraps(f)
        def counted_from_the_front(*args: Any) -> Any:
            names = (f"smap of {describe_function(f)}: in_axes", "the arguments")
            axes = tree.broadcast_prefix(in_axes, args, is_none, names=names)
            leaves, structure = tree.flatten(args)
            places = [a if a is None else _from_the_front(f, a, x) for a, x in zip(axes, leaves, strict=True)]
            in_axes_of = structure.unflatten(places)
            return smap(f, in_axes=in_axes_of, out_axes=out_axes, axis_name=axis_name)(*args)

        return counted_from_the_front
    in_specs = None if in_axes is ... else to_specs(in_axes)
    return shard_map(f, in_specs=in_specs, out_specs=to_specs(out_axes), axis_names={axis_name})


def _from_the_front(f: Any, axis: int, x: Any) -> int:
    ndim = typeof(x).ndim
    if not -ndim <= axis < ndim:
        who = f"smap of {describe_function(f)}"
        raise ValueError(f"{who}: in_axes is {axis} for an argument of {ndim} dimensions")
    return axis % ndim


__all__ = ["shard_map", "smap"]
