"""What the type of an array says of where it lies: nothing. Programs written for several devices ask for it.

It answers the questions that such programs ask of a sharding, and wherever a sharding may be asked for it
means none.
"""

from __future__ import annotations

from typing import Any


class NoMesh:
    """A mesh without axes."""

    __slots__ = ()
    empty = True
    axis_names = axis_sizes = axis_types = ()
    size = 1
    are_all_axes_explicit = are_all_axes_auto = are_all_axes_manual = False
    shape = property(lambda self: {}, doc="The sizes of the axes by name: none.")

    def __repr__(self) -> str:
        return "no mesh"


NO_MESH = NoMesh()


class Unplaced:
    """The sharding in the type of an array of ``ndim`` dimensions, none of which is cut along an axis of a
    mesh.

    Example:
      >>> sharding = rb.typeof(np.ones((2, 3))).sharding
      >>> sharding.spec, sharding.mesh.empty, sharding.is_fully_replicated
      ((None, None), True, True)
      >>> rnp.zeros(2, out_sharding=sharding).shape
      (2,)
    """

    __slots__ = ("ndim",)
    mesh = NO_MESH
    memory_kind = None
    is_fully_replicated = True

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim

    spec = property(lambda self: (None,) * self.ndim, doc="Along which axes each dimension is cut: none.")

    def update(self, *, spec: Any = None, **other: Any) -> Any:
        """The same for as many dimensions as ``spec`` has.

        Raises ValueError for a spec that names axes, and for whatever else one would change.
        """
        if other or any(axis is not None for axis in spec or ()):
            raise ValueError(f"no mesh is part of this type: it cannot be cut as {spec or other} says")
        return self if spec is None else Unplaced(len(spec))

    def __sharding__(self, name: str) -> Any:
        return None

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, Unplaced) and self.ndim == other.ndim

    def __hash__(self) -> Any:
        return hash((Unplaced, self.ndim))

    def __repr__(self) -> str:
        return f"Unplaced(ndim={self.ndim})"
