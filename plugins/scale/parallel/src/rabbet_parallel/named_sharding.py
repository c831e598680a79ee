"""``NamedSharding``: a mesh and a ``PartitionSpec``."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from rabbet.errors import ShardingError
from rabbet.extend.functions import folded
from rabbet.extend.sharding import Sharding, with_part

from rabbet_parallel.current_mesh import get_abstract_mesh, mesh_in_use, needed_mesh
from rabbet_parallel.explicit_sharding import entries_of, explicit_entries, spread_of
from rabbet_parallel.meshes import AbstractMesh, HiddenMesh, Mesh, belong_apart
from rabbet_parallel.operations import operations, provides
from rabbet_parallel.partition_spec import UNCONSTRAINED, PartitionSpec, axes_of, names_in
from rabbet_parallel.shardy_text import spec_text, unreduced_text
from rabbet_parallel.unreduced_sums import COMPILER_KNOWS, Addends, mesh_of_sums, reduced_of, unreduced_of


class NamedSharding(Sharding):
    """Arrays over the devices of a mesh, cut as a ``PartitionSpec`` says.

    Args:
      mesh: a ``Mesh``.
      spec: a ``PartitionSpec``, or a tuple of its entries.
      memory_kind: the memory of the devices to use; None: their usual one.

    Raises:
      ShardingError: for an axis that the mesh does not have, or that occurs twice.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> rows = NamedSharding(rb.make_mesh((1,), ("x",)), P("x"))
      >>> rb.device_put(np.ones((4, 2), np.float32), rows).sharding == rows
      True
    """

    __slots__ = ("_hash", "_mesh", "_spec", "other_memory")

    @folded
    def __init__(self, mesh: Any, spec: Any, *, memory_kind: Any = None) -> None:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(f"NamedSharding takes a Mesh, got {type(mesh).__name__}")
        if spec is None:
            raise TypeError("NamedSharding takes a PartitionSpec, got None; PartitionSpec() cuts nothing")
        if isinstance(spec, str):
            raise TypeError(f"NamedSharding takes a PartitionSpec, got {spec!r}")
        if not isinstance(spec, PartitionSpec):
            spec = PartitionSpec(*spec)
        for name in axes_of(spec):
            if name not in mesh.axis_names:
                raise ShardingError(
                    f"{spec} names the axis {name!r}, which is none of the mesh's: "
                    f"{', '.join(map(repr, mesh.axis_names))}"
                )
        for name in (*spec.unreduced, *spec.reduced):
            if name not in mesh.axis_names or name in mesh.auto_axes:
                raise ShardingError(
                    f"{spec}: unreduced and reduced name axes of type Explicit, and {name!r} is none of "
                    f"{mesh}"
                )
        if UNCONSTRAINED in spec and not mesh.auto_axes:
            raise ShardingError(
                f"{spec} leaves a dimension to the compiler (UNCONSTRAINED), which decides along axes of "
                f"type Auto only, and {mesh} has none"
            )
        self._mesh, self._spec, self.other_memory = mesh, spec, memory_kind
        if memory_kind is not None and isinstance(mesh, Mesh):
            self.other_memory = self.unusual(memory_kind)
        elif memory_kind == "device":  # the usual one, whatever the devices are
            self.other_memory = None
        self._hash = hash((mesh, spec, self.other_memory))

    mesh = property(lambda self: self._mesh, doc="The mesh.")
    spec = property(lambda self: self._spec, doc="The ``PartitionSpec``.")
    device_order = property(lambda self: self.group.devices, doc="The mesh's devices, row by row.")
    num_devices = property(lambda self: self._mesh.size, doc="How many devices the mesh has.")

    has_devices = property(lambda self: isinstance(self._mesh, Mesh), doc="Whether the mesh has devices.")

    def on(self, group: Any) -> Any:
        """On an ``AbstractMesh``: the same on these devices, row by row."""
        if isinstance(self._mesh, Mesh):
            return self
        devices = getattr(group, "devices", (group,))
        mesh = self._mesh
        if len(devices) != mesh.size:
            raise ShardingError(f"{self} is for {mesh.size} devices, and the program runs on {group}")
        return self.update(mesh=concrete_mesh(mesh, tuple(devices)))

    def refuse_unsettled(self, who):
        """Refuse a dimension that is left to the compiler, and sums that it does not know."""
        if self._spec.unreduced and not COMPILER_KNOWS:
            raise ShardingError(
                f"{who}: {self._spec} names sums that are not added up; with this jaxlib these live within a "
                "program: add up with rb.reshard before it ends, or use jaxlib 0.12"
            )
        if UNCONSTRAINED in self._spec:
            raise ShardingError(
                f"{who}: {self._spec} leaves a dimension to the compiler, which with_sharding_constraint "
                "within a program may do; name its axes here, or None for a whole one"
            )

    @property
    def memory_kind(self) -> Any:
        """The name of the memory in which arrays lie; None without devices, on an ``AbstractMesh``."""
        return self.other_memory if isinstance(self._mesh, AbstractMesh) else super().memory_kind

    def __sharding__(self, name: Any) -> Any:
        """On an ``AbstractMesh``: the same on the mesh that is set, where its axes are these."""
        if not isinstance(self._mesh, AbstractMesh):
            return self
        concrete = with_devices(self._mesh, mesh_in_use())
        return self if concrete is None else self.update(mesh=concrete)

    @property
    def group(self) -> Any:
        """The devices as the place where programs run."""
        if isinstance(self._mesh, AbstractMesh):
            raise ShardingError(
                f"{self} names no devices, and no mesh of these axes was set when the function was traced\n"
                "  to fix: rb.set_mesh(mesh) around the call, or give a NamedSharding on a Mesh"
            )
        return self._mesh.group

    @property
    def is_fully_replicated(self) -> Any:
        """Whether each device holds all of the array."""
        return not self.addends and all(self._mesh.shape[name] == 1 for name in axes_of(self._spec))

    @property
    def addends(self) -> Any:
        """The axes along which each device holds an addend of the values."""
        return self._spec.unreduced

    def refuse_others(self, others: Any) -> None:
        """See ``Sharding.refuse_others``: over axes of type ``Explicit`` all lie on one mesh."""
        if isinstance(self._mesh, HiddenMesh):
            return
        for other in others:
            mesh = getattr(other, "mesh", self._mesh)
            if not isinstance(mesh, HiddenMesh) and belong_apart(mesh, self._mesh):
                raise ShardingError(
                    f"an argument lies on {mesh}, and the mesh that is set is {self._mesh}\n"
                    "  to fix: bring it there, rb.device_put(x, P(...)), or set its mesh around the call"
                )

    def written_out(self, ndim: int) -> Any:
        """See ``Sharding.written_out``: over axes of type ``Explicit`` the spec names every dimension."""
        spec = self._spec
        if not self._mesh.explicit_axes or len(spec) >= ndim:
            return self
        return self.with_spec(
            PartitionSpec(*self.entries(ndim), unreduced=spec.unreduced, reduced=spec.reduced)
        )

    def of_types(self, ndim: int) -> Any:
        """See ``Sharding.of_types``: it is whole on the mesh that is set."""
        mesh = get_abstract_mesh()
        return NamedSharding(self._mesh.abstract_mesh if mesh.empty else mesh, PartitionSpec(*[None] * ndim))

    def entries(self, ndim: Any) -> Any:
        """The spec with an entry for each of ``ndim`` dimensions."""
        if len(self._spec) > ndim:
            raise ShardingError(
                f"{self._spec} has entries for {len(self._spec)} dimensions, and the array has {ndim}"
            )
        return (*self._spec, *[None] * (ndim - len(self._spec)))

    def write_partitioned(self, op: Any, rule: Any, names: Any) -> Any:
        """See ``Sharding.write_partitioned``."""
        return operations.write_partitioned(op, rule, names)

    def tiles(self, ndim: Any) -> Any:
        """How arrays are cut: see ``Sharding.tiles``."""
        return _tiles(self._mesh, self.entries(ndim))

    def like(self, counts: Any, parts: Any) -> Any:
        """The sharding on this mesh with these tiles, or None."""
        spec = spec_of_tiles(self._mesh, counts, parts)
        return None if spec is None else NamedSharding(self._mesh, spec)

    def text(self, ndim: Any) -> Any:
        """The mesh and the dimensions, as Shardy writes them."""
        return spec_text(self._mesh, self.entries(ndim))

    def attributes(self, ndim: Any) -> Any:
        """What the compiler is told of an argument or result."""
        kind = "" if self.other_memory is None else f', mhlo.memory_kind = "{self.other_memory}"'
        addends = unreduced_text(self._mesh, self.addends)
        return f"sdy.sharding = #sdy.sharding<{self.text(ndim)}{addends}>{kind}"

    def in_types(self, ndim: Any) -> Any:
        """What types say of axes of type ``Explicit``, or None."""
        mesh = self._mesh
        if not mesh.explicit_axes:
            return None
        spread = spread_of(mesh.abstract_mesh, explicit_entries(mesh, self.entries(ndim)))
        if self._spec.unreduced or self._spec.reduced:
            part = Addends(mesh.abstract_mesh, self._spec.unreduced, self._spec.reduced)
            spread = with_part(spread, Addends, part)
        return spread

    def asked(self, aval: Any) -> Any:
        """On a mesh whose axes are all explicit, what the type of a result says; on another one if it says
        of sums, which no layout that the compiler chose would say.
        """
        if not self._mesh.are_all_axes_explicit or not self._mesh.axis_names:
            said = mesh_of_sums(aval)
            concrete = None if said is None else with_devices(said, self._mesh)
            return None if concrete is None else self.update(mesh=concrete).asked(aval)
        unreduced = unreduced_of(aval)
        spec = PartitionSpec(*entries_of(aval), unreduced=unreduced, reduced=reduced_of(aval))
        if unreduced and not COMPILER_KNOWS:
            raise ShardingError(
                f"a result of a compiled function is {aval.str_short()}, a sum that is not added up yet, "
                "which this jaxlib cannot return\n"
                "  to fix: add up before it is returned, rb.reshard(x, P(...)), or use jaxlib 0.12"
            )
        return self.with_spec(spec)

    def of_results(self, jaxpr: Any, ins: Any) -> Any:
        """See ``Sharding.of_results``."""
        return operations.results_over_meshes(jaxpr, ins, self)

    def constrain(self, x: Any) -> Any:
        """A traced value laid out so, in the memory that it names."""
        return self.moved(operations.constrained(x, self))

    def laying(self, aval: Any, wanted: Any) -> Any:
        """The operators for results that are to be added up, or to be addends; see ``Sharding.laying``."""
        if type(wanted) is not NamedSharding:
            wanted = self.with_spec(PartitionSpec())
        wanted = wanted.update(memory_kind=self.other_memory)
        return operations.constraints_for(aval, wanted)

    def before(self, aval: Any) -> Any:
        """The shardings that a value of type ``aval`` is given first: one sum is added up before another one
        is made of it.
        """
        have, wanted = unreduced_of(aval), self._spec.unreduced
        if not have - wanted or not wanted - have:
            return []
        return [self.with_spec(self._spec.update(unreduced=have & wanted))]

    def update(self, **changes: Any) -> Any:
        """A sharding that differs in ``mesh``, ``spec`` or ``memory_kind``."""
        return NamedSharding(
            changes.get("mesh", self._mesh),
            changes.get("spec", self._spec),
            memory_kind=changes.get("memory_kind", self.other_memory),
        )

    def with_spec(self, spec: Any) -> Any:
        """The same with another spec."""
        return self.update(spec=spec)

    def with_memory_kind(self, kind: Any) -> Any:
        """The same in another memory of the devices."""
        return self.update(memory_kind=kind)

    def __eq__(self, other: Any) -> Any:
        return self is other or (
            type(other) is NamedSharding
            and self._hash == other._hash
            and self._mesh == other._mesh
            and self._spec == other._spec
            and self.other_memory == other.other_memory
        )

    def __hash__(self) -> Any:
        return self._hash

    def __repr__(self) -> Any:
        kind = f", memory_kind={self.memory_kind}" if self.memory_kind else ""
        return f"NamedSharding(mesh={self._mesh!s}, spec={self._spec}{kind})"

    def __reduce__(self) -> Any:
        return _remake, (self._mesh, self._spec, self.other_memory)


@provides
def sharding_on(mesh: Any, spec: PartitionSpec) -> NamedSharding:
    """A spec on a mesh, which may be one without devices."""
    return NamedSharding(mesh, spec)


def _remake(mesh: Any, spec: Any, memory_kind: Any) -> Any:
    return NamedSharding(mesh, spec, memory_kind=memory_kind)


@functools.lru_cache(maxsize=1024)
def _tiles(mesh: Any, entries: Any) -> Any:
    sizes = mesh.shape
    place = dict(zip(mesh.axis_names, np.indices(mesh.axis_sizes).reshape(len(sizes), -1), strict=True))
    counts, parts = [], np.zeros((mesh.size, len(entries)), int)
    for i, entry in enumerate(entries):
        count = 1
        for name in names_in(entry):
            parts[:, i] = parts[:, i] * sizes[name] + place[name]
            count *= sizes[name]
        counts.append(count)
    return tuple(counts), parts


def spec_of_tiles(mesh: Any, counts: Any, parts: Any) -> Any:
    """The ``PartitionSpec`` on ``mesh`` with these tiles, or None: some cuts are finer than its axes."""
    shape, ndim = mesh.axis_sizes, parts.shape[1]
    grid = parts.reshape((*shape, ndim))
    by_dimension = [[] for _ in range(ndim)]
    for k, name in enumerate(mesh.axis_names):
        if shape[k] == 1:
            continue
        step = grid[tuple([int(j == k) for j in range(len(shape))])]
        for d in np.nonzero(step)[0]:
            by_dimension[d].append((int(step[d]), name))
    entries = [tuple([name for _, name in sorted(found, reverse=True)]) for found in by_dimension]
    while entries and not entries[-1]:
        entries.pop()
    names = [name for entry in entries for name in entry]
    if len(set(names)) != len(names):
        return None
    spec = PartitionSpec(*entries)
    again_counts, again = _tiles(mesh, (*spec, *[None] * (ndim - len(spec))))
    return spec if again_counts == tuple(counts) and (again == parts).all() else None


@functools.lru_cache(maxsize=256)
def concrete_mesh(mesh: Any, devices: Any) -> Any:
    """An ``AbstractMesh`` on these devices, row by row."""
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return Mesh(grid.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)


def with_devices(mesh: Any, concrete: Any) -> Any:
    """An ``AbstractMesh`` on the devices of a mesh of the same axes, or None."""
    if concrete is None or (concrete.axis_sizes, concrete.axis_names) != (mesh.axis_sizes, mesh.axis_names):
        return None
    return concrete.update(axis_types=mesh.axis_types)


@provides
def as_sharding(given: Any, who: Any, entered: bool = False) -> Any:
    """What the argument ``who`` means: a ``Sharding``, or a ``PartitionSpec`` on the mesh of ``set_mesh``;
    with ``entered`` also on that of ``with mesh:``.

    Raises:
      ShardingError: for a spec where no mesh is set. TypeError: for anything else.
    """
    if isinstance(given, PartitionSpec):
        return NamedSharding(needed_mesh(who, given, entered), given)
    if hasattr(type(given), "__sharding__"):  # it stands for one, as a Format does
        given = given.__sharding__(who)
    if isinstance(given, Sharding):
        return given
    raise TypeError(
        f"{who} must be None or a Sharding, such as x.sharding, or a PartitionSpec; got {given!r:.60}"
    )


__all__ = ["NamedSharding", "as_sharding", "spec_of_tiles", "with_devices"]
