"""Meshes: devices in a grid whose axes have names."""

from __future__ import annotations

import enum
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import rabbet as rb
from rabbet import devices as all_devices
from rabbet.errors import ShardingError
from rabbet.extend.backend import Setting
from rabbet.extend.sharding import device_group

if TYPE_CHECKING:
    from collections.abc import Sequence


class AxisType(enum.Enum):
    """How an axis of a mesh is used: ``Auto``, by the compiler; ``Explicit``, as the types of arrays say;
    ``Manual``, within ``shard_map``.

    Example:
      >>> mesh = rb.make_mesh((1,), ('i',), axis_types=(rb.sharding.AxisType.Explicit,))
      >>> mesh.axis_types
      (Explicit,)
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> Any:
        return self.name


class Entered(NamedTuple):
    """A mesh of ``with mesh:``, which specs alone refer to; ``get_abstract_mesh`` does not tell it, as in
    JAX.
    """

    mesh: Any


def meshes_from(value: Any) -> Any:
    """The value of the setting ``meshes``: meshes, innermost last; None among them hides those before."""
    kinds = AbstractMesh | Mesh | Entered
    if isinstance(value, str) or not all(m is None or isinstance(m, kinds) for m in value):
        raise ValueError("it is a tuple of meshes, and rb.set_mesh sets it")
    return tuple(value)


# A setting, since what is traced under one mesh means something else under another.
rb.config.define(
    Setting(
        "meshes", (), meshes_from, "The meshes that are set, innermost last; rb.set_mesh(mesh) sets them.",
        traced=True,
    )
)  # fmt: skip


class Current(threading.local):
    """The meshes that were set on this thread, innermost last; an entry may be abstract, or None."""

    def __init__(self) -> None:
        self.entered = []
        self.manual = frozenset()  # the axes over which a ``shard_map`` around has taken arrays apart

    @property
    def meshes(self) -> Any:
        """All of them."""
        return rb.config.meshes

    def push(self, mesh: Any) -> None:
        """Make a mesh the current one."""
        self.entered.append(self.within(Entered(mesh)))

    def pop(self) -> None:
        """Go back to the one before."""
        self.entered.pop().__exit__()

    def within(self, mesh: Any, **further: Any) -> Any:
        """Make a mesh the current one, with ``further`` settings; a context manager that has been entered."""
        override = rb.config.override(meshes=(*self.meshes, mesh), **further)
        override.__enter__()
        return override

    @property
    def innermost(self) -> Any:
        """The current mesh, set by ``set_mesh`` or its like, or None."""
        return next((m for m in reversed(self.meshes) if type(m) is not Entered), None)


current = Current()


def usual_type() -> AxisType:
    """The type of axes that ``make_mesh`` and ``AbstractMesh`` are told nothing of."""
    return AxisType.Explicit if rb.config.mesh_axis_types == "explicit" else AxisType.Auto


def checked_types(axis_types: Any, count: Any) -> Any:
    """The types of ``count`` axes: by default ``Auto``."""
    if axis_types is None:
        return (AxisType.Auto,) * count
    types = (axis_types,) * count if isinstance(axis_types, AxisType) else tuple(axis_types)
    wrong = [t for t in types if not isinstance(t, AxisType)]
    if wrong:
        raise TypeError(f"axis_types holds values of rabbet.sharding.AxisType, got {wrong[0]!r}")
    if len(types) != count:
        raise ShardingError(f"a mesh of {count} axes needs {count} axis_types, got {types}")
    return types


class _Axes:
    """What a mesh and an abstract mesh know alike."""

    axis_names: tuple
    axis_sizes: tuple
    axis_types: tuple
    update: Callable

    @property
    def shape(self) -> Any:
        """The sizes of the axes by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    shape_tuple = property(lambda self: tuple(self.shape.items()), doc="Pairs of name and size.")
    empty = property(lambda self: not self.axis_names, doc="Whether it has no axes.")

    @property
    def size(self) -> Any:
        """How many devices."""
        return int(np.prod(self.axis_sizes, dtype=int)) if self.axis_names else 0

    def _of_type(self, kind: Any) -> Any:
        return tuple([n for n, t in zip(self.axis_names, self.axis_types, strict=True) if t is kind])

    auto_axes = property(lambda self: self._of_type(AxisType.Auto), doc="Axes of type ``Auto``.")
    explicit_axes = property(lambda self: self._of_type(AxisType.Explicit), doc="Axes of type ``Explicit``.")
    manual_axes = property(lambda self: self._of_type(AxisType.Manual), doc="Axes of type ``Manual``.")

    def _all_of(self, *kinds: Any) -> Any:
        return all(t in kinds for t in self.axis_types)

    are_all_axes_auto = property(lambda self: self._all_of(AxisType.Auto))
    are_all_axes_explicit = property(lambda self: self._all_of(AxisType.Explicit))
    are_all_axes_manual = property(lambda self: self._all_of(AxisType.Manual))
    are_all_axes_explicit_or_manual = property(lambda self: self._all_of(AxisType.Explicit, AxisType.Manual))

    def update_axis_types(self, name_to_type: Any) -> Any:
        """A mesh whose axes have other types: a dict from names to these."""
        types = [name_to_type.get(n, t) for n, t in zip(self.axis_names, self.axis_types, strict=True)]
        return self.update(axis_types=tuple(types))

    def taken_apart(self, names: Any) -> Any:
        """The mesh within a function that is split by hand along these axes: they are of type ``Manual``."""
        others = [n for n in names if n in self.axis_names and n not in self.manual_axes]
        return self.update_axis_types(dict.fromkeys(others, AxisType.Manual)) if others else self

    def _axes_text(self) -> Any:
        return ", ".join([f"{n!r}: {s}" for n, s in self.shape_tuple]) or "()"


def belong_apart(one: Any, other: Any) -> bool:
    """Whether values on these two meshes may not stand in one operation: what the types of one say does not
    hold on the other.
    """
    if not one.explicit_axes and not other.explicit_axes:
        return False
    return one.abstract_mesh != other.abstract_mesh


def checked_names(names: Any) -> Any:
    """The names of axes as a tuple, each once."""
    names = (names,) if isinstance(names, str) else tuple(names)
    if len(set(names)) != len(names):
        raise ShardingError(f"the axes of a mesh need different names, got {names}")
    return names


class AbstractMesh(_Axes):
    """The names and sizes of axes, without devices.

    Args:
      axis_sizes, axis_names: tuples of one length.
      axis_types: an ``AxisType``, or one for each axis; by default ``Auto``, or what
        ``config.mesh_axis_types`` says.
      abstract_device: what the devices are, such as a ``device_kind``: anything with equality and a hash.

    Example:
      >>> mesh = rb.sharding.AbstractMesh((2, 4), ('data', 'model'))
      >>> mesh.axis_names, mesh.shape['model']
      (('data', 'model'), 4)
    """

    def __init__(
        self, axis_sizes: Any, axis_names: Any, axis_types: Any = None, *, abstract_device: Any = None
    ) -> None:
        if isinstance(axis_names, (dict, set)):
            raise TypeError(f"AbstractMesh: axis_names must be a tuple of names, got {axis_names!r:.60}")
        self.abstract_device = abstract_device
        self.axis_names = checked_names(axis_names)
        self.axis_sizes = tuple([int(n) for n in axis_sizes])
        if len(self.axis_sizes) != len(self.axis_names):
            raise ShardingError(f"got {len(self.axis_sizes)} sizes for the axes {self.axis_names}")
        self.axis_types = checked_types(
            usual_type() if axis_types is None else axis_types, len(self.axis_names)
        )

    abstract_mesh = property(lambda self: self, doc="Itself.")

    def update(self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None) -> Any:
        """A mesh that differs in what is given."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
            abstract_device=self.abstract_device,
        )

    def _key(self) -> Any:
        return self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device

    def __eq__(self, other: Any) -> Any:
        return type(other) is AbstractMesh and self._key() == other._key()

    def __hash__(self) -> Any:
        return hash(self._key())

    def __repr__(self) -> Any:
        return f"AbstractMesh({self._axes_text()}, axis_types={self.axis_types})"


class Mesh(_Axes):
    """Devices in a grid whose axes have names.

    Args:
      devices: an array of ``Device``s, or nested sequences of them; its shape is that of the mesh.
      axis_names: a name for each of its dimensions.
      axis_types: an ``AxisType``, or one for each axis; by default ``Auto``.

    Raises:
      ShardingError: where names and dimensions do not fit, or a name occurs twice.

    ``with mesh:`` makes it the mesh that a ``PartitionSpec`` alone refers to, as ``set_mesh`` does; but it is
    not what ``get_mesh`` and ``get_abstract_mesh`` tell.

    Example:
      >>> from rabbet.sharding import Mesh
      >>> Mesh(rb.devices()[:1], ("x",))
      Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))
    """

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        grid = np.array(devices, object)
        if grid.ndim == 0:
            grid = grid.reshape((1,) * len(checked_names(axis_names)))
        self.axis_names = checked_names(axis_names)
        if grid.ndim != len(self.axis_names) and grid.size:
            raise ShardingError(
                f"a mesh of shape {grid.shape} has {grid.ndim} axes, got the names {self.axis_names}"
            )
        grid.flags.writeable = False
        self.devices, self.axis_sizes = grid, grid.shape[: len(self.axis_names)]
        self.axis_types = checked_types(axis_types, len(self.axis_names))
        self.group = device_group(tuple(grid.flat)) if grid.size else None
        self._hash = hash((self.group, self.axis_sizes, self.axis_names, self.axis_types))

    @property
    def device_ids(self) -> Any:
        """The numbers of the devices, an array of the mesh's shape."""
        return np.vectorize(lambda d: d.id, otypes=[int])(self.devices)

    local_devices = property(lambda self: [d for d in self.devices.flat if d in d.client.local_devices])
    local_mesh = property(lambda self: self)
    is_multi_process = property(lambda self: len(self.local_devices) != self.devices.size)
    abstract_mesh = property(lambda self: AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types))

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Any:
        """A mesh that differs in what is given."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __eq__(self, other: Any) -> Any:
        return self is other or (
            type(other) is type(self)
            and self.group is other.group
            and (self.axis_sizes, self.axis_names, self.axis_types)
            == (other.axis_sizes, other.axis_names, other.axis_types)
        )

    def __hash__(self) -> Any:
        return self._hash

    def __str__(self) -> Any:
        return f"Mesh({self._axes_text()}, axis_types={self.axis_types})"

    def __repr__(self) -> Any:
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, axis_types={self.axis_types})"
        )

    def __reduce__(self) -> Any:
        return type(self), (self.devices.tolist(), self.axis_names, self.axis_types)

    def __enter__(self) -> Any:
        current.push(self)
        return self

    def __exit__(self, *error: Any) -> None:
        current.pop()


class HiddenMesh(Mesh):
    """A mesh of ``Auto`` axes for arrays of another mesh, of which types are to say nothing: beside these any
    array may stand.
    """


def make_mesh(
    axis_sizes: Sequence[int], axis_names: Any, axis_types: Any = None, *, devices: Any = None
) -> Any:
    """A mesh of the first devices, or of those given.

    Args:
      axis_sizes: the size of each axis.
      axis_names: the name of each axis.
      axis_types: an ``AxisType``, or one for each axis; by default ``Auto``, or what
        ``config.mesh_axis_types`` says.
      devices: by default ``rb.devices()``, of which it takes as many as it needs.

    Raises:
      ShardingError: where there are fewer devices than the mesh has places.

    Example:
      >>> print(rb.make_mesh((1,), ("x",)))
      Mesh('x': 1, axis_types=(Auto,))
    """
    shape = tuple([int(n) for n in axis_sizes])
    needed = int(np.prod(shape, dtype=int))
    there = list(all_devices() if devices is None else devices)
    if len(there) < needed or (devices is not None and len(there) != needed):
        hint = ""
        if devices is None and there[0].platform == "cpu":
            hint = "; set RABBET_NUM_CPU_DEVICES for more CPU devices in one process"
        raise ShardingError(
            f"make_mesh: a mesh of shape {shape} has {needed} places, and there are {len(there)} "
            f"devices{hint}"
        )
    grid = np.empty(needed, object)
    grid[:] = there[:needed]
    return Mesh(grid.reshape(shape), axis_names, usual_type() if axis_types is None else axis_types)


__all__ = ["AbstractMesh", "AxisType", "HiddenMesh", "Mesh", "belong_apart", "current", "make_mesh"]
