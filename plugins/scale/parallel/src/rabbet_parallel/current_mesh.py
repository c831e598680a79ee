"""The mesh that is set: what a ``PartitionSpec`` alone refers to, on this thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import rabbet as rb
from rabbet.errors import ArgumentError, NoMeshError
from rabbet.extend.functions import folded, is_evaluating

from rabbet_parallel.meshes import AbstractMesh, AxisType, Entered, Mesh, current
from rabbet_parallel.operations import operations
from rabbet_parallel.partition_spec import PartitionSpec


class set_mesh(AbstractContextManager):
    """Make ``mesh`` the one that a ``PartitionSpec`` alone refers to, on this thread: from now on, or
    within a ``with`` block. None: no mesh.

    Example:
      >>> from rabbet.sharding import Mesh, get_mesh
      >>> with rb.set_mesh(Mesh(rb.devices()[:1], ("x",))):
      ...     print(get_mesh())
      Mesh('x': 1, axis_types=(Auto,))
    """

    accepts: tuple = (Mesh,)

    @folded
    def __init__(self, mesh: Any) -> None:
        if mesh is not None and not isinstance(mesh, self.accepts):
            kinds = " or ".join([kind.__name__ for kind in self.accepts])
            raise ArgumentError(f"{type(self).__name__} takes a {kinds} or None, got {type(mesh).__name__}")
        if type(self) is set_mesh and not is_evaluating():
            raise ValueError(
                "set_mesh within a traced function would stay behind it or be forgotten; set the "
                "mesh outside, or name it in the shardings"
            )
        self.override = current.within(mesh, **placing(mesh))

    def __enter__(self) -> Any:
        return current.innermost

    def __exit__(self, *error: Any) -> None:
        self.override.__exit__()


def placing(mesh: Any) -> dict:
    """The settings by which what nobody placed lies over a mesh, where ``config.mesh_rules`` says so."""
    if rb.config.mesh_rules == "named" or isinstance(mesh, AbstractMesh):
        return {}
    if mesh is None or not mesh.axis_names:
        return {"default_sharding": None}
    return {"default_sharding": operations.sharding_on(mesh, PartitionSpec())}


class use_mesh(set_mesh):
    """``set_mesh`` for a ``with`` block, by its older name.

    Example:
      >>> from rabbet.sharding import Mesh, get_mesh, use_mesh
      >>> with use_mesh(Mesh(rb.devices()[:1], ("x",))):
      ...     print(get_mesh().axis_names)
      ('x',)
    """

    def __init__(self, mesh: Any) -> None:
        super().__init__(mesh)
        self.override.__exit__()
        self.mesh = mesh

    def __enter__(self) -> Any:
        self.override = current.within(self.mesh, **placing(self.mesh))
        return self.mesh


class use_abstract_mesh(use_mesh):
    """Make an ``AbstractMesh`` the current one within a ``with`` block, as ``get_abstract_mesh`` tells: for
    what only asks for names and sizes of axes.

    Example:
      >>> from rabbet.sharding import AbstractMesh, get_abstract_mesh, use_abstract_mesh
      >>> with use_abstract_mesh(AbstractMesh((4, 2), ("x", "y"))):
      ...     print(get_abstract_mesh().size)
      8
    """

    accepts = (AbstractMesh, Mesh)


def mesh_in_use() -> Any:
    """The ``Mesh`` that was set or entered on this thread, or None."""
    meshes = [m.mesh if type(m) is Entered else m for m in reversed(current.meshes)]
    return next((m for m in meshes if m is None or isinstance(m, Mesh)), None)


def get_mesh() -> Any:
    """The mesh set by ``set_mesh`` on this thread; a mesh without axes (``empty``) where none is. It does not
    tell that of ``with mesh:``.

    Example:
      >>> from rabbet.sharding import get_mesh
      >>> get_mesh().empty
      True
    """
    return mesh_that_is_set() or Mesh((), ())


def mesh_that_is_set() -> Any:
    """The ``Mesh`` that was set on this thread, or None; one of ``with mesh:`` is not."""
    set_ones = [m for m in current.meshes if type(m) is not Entered]
    return next((m for m in reversed(set_ones) if m is None or isinstance(m, Mesh)), None)


def get_abstract_mesh() -> Any:
    """The names and sizes of the current mesh's axes, an ``AbstractMesh``; it has none where no mesh is set.
    Within ``shard_map`` the axes over which arrays are taken apart are of type ``Manual``.

    Example:
      >>> from rabbet.sharding import get_abstract_mesh
      >>> get_abstract_mesh().empty
      True
    """
    mesh = current.innermost
    found = AbstractMesh((), ()) if mesh is None else mesh.abstract_mesh
    apart = dict.fromkeys(current.manual, AxisType.Manual)
    return found.update_axis_types(apart) if apart else found


def needed_mesh(who: Any, what: Any, entered: bool = False) -> Any:
    """The mesh that is set; with ``entered`` also that of ``with mesh:``.

    Raises:
      NoMeshError: where none is; ``who`` needs it for ``what``.
    """
    mesh = mesh_in_use() if entered else mesh_that_is_set()
    if mesh is None:
        around = "" if mesh_in_use() is None else " (`with mesh:` is for with_sharding_constraint and pjit)"
        raise NoMeshError(
            f"{who} is {what}, and no mesh is set{around}; give NamedSharding(mesh, {what}), or set one with "
            "rb.set_mesh(mesh)"
        )
    return mesh


__all__ = [
    "get_abstract_mesh", "get_mesh", "mesh_in_use", "mesh_that_is_set", "needed_mesh", "placing", "set_mesh",
    "use_abstract_mesh", "use_mesh",
]  # fmt: skip
