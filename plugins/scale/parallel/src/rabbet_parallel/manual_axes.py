"""Where each device computes by itself: who communicates with whom there.

A ``Manual`` says over which axes of which mesh the text that is being written is split by hand. Groups of
devices are named by partition numbers: the places of devices in the mesh, row by row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rabbet.errors import ShardingError, UnboundAxisError

from rabbet_parallel.explicit_sharding import entries_along, entries_of, mesh_of
from rabbet_parallel.meshes import Mesh
from rabbet_parallel.shardy_text import mesh_text, spec_text, unreduced_text
from rabbet_parallel.unreduced_sums import mesh_of_sums, unreduced_of

if TYPE_CHECKING:
    from rabbet.extend.rules import Site

INDEX = "tensor<ui32>"


def several(name: Any) -> Any:
    """The names of the axes that are named."""
    return name if type(name) is tuple else (name,)


class Manual(NamedTuple):
    """A mesh, and those of its axes over which devices compute by themselves."""

    mesh: Mesh
    axes: frozenset

    @property
    def left(self) -> Any:
        """Over how many devices the compiler cuts up what each device computes: along the other axes."""
        return int(np.prod([n for name, n in self.mesh.shape_tuple if name not in self.axes], dtype=int))

    @property
    def text(self) -> Any:
        """The mesh, as Shardy writes it."""
        return mesh_text(self.mesh)

    def text_of(self, aval: Any) -> Any:
        """How the compiler is told of a value whose type says how the other axes cut it, or None."""
        sums = unreduced_of(aval) - self.axes
        mesh = mesh_of(aval) if mesh_of(aval) is not None or not sums else mesh_of_sums(aval)
        if mesh is None or mesh.shape_tuple != self.mesh.shape_tuple:
            return None
        left = [n for n in mesh.explicit_axes if n not in self.axes]
        cut = entries_along(left, entries_of(aval))
        extra = aval.physical.ndim - aval.ndim
        if not any(cut) and not sums:
            return None
        cuts = spec_text(self.mesh, (*cut, *[None] * extra), bool(mesh.auto_axes))
        return cuts + unreduced_text(self.mesh, sums)

    def check(self, op: Any) -> None:
        """Refuse a collective along an axis that is not taken apart here, or was of another size."""
        names = several(op.params["axis"])
        for name in names:
            if name not in self.axes:
                raise UnboundAxisError(
                    f"{op.primitive.name} communicates along the axis {name!r}, and shard_map splits its "
                    f"function over {', '.join(map(repr, sorted(self.axes)))}\n  to fix: name the axis in "
                    f"axis_names, or map the function, as in rb.vmap(f, axis_name={name!r})"
                )
        size = math.prod([self.mesh.shape[name] for name in names])
        if op.params["size"] != size:
            raise ShardingError(
                f"{op.primitive.name}: the axis {op.params['axis']!r} was of size {op.params['size']} when "
                f"the function was traced, and is of size {size} in {self.mesh}"
            )

    def rows(self, name: Any) -> Any:
        """``[row, place along the axis]`` of partition numbers; of several axes, the first one outermost."""
        numbers = np.arange(self.mesh.size).reshape(self.mesh.axis_sizes)
        places = [self.mesh.axis_names.index(n) for n in several(name)]
        moved = np.moveaxis(numbers, places, range(-len(places), 0))
        return moved.reshape(-1, math.prod([self.mesh.axis_sizes[i] for i in places]))

    def place(self, op: Site, name: Any) -> Any:
        """Write the place of a partition along an axis, from its number: divided by the sizes of the axes
        behind, modulo the axis's own size.
        """
        mesh = self.mesh
        if mesh.shape[name] == 1:
            return op.emit(f"stablehlo.constant dense<0> : {INDEX}")
        others = [n for n in mesh.axis_names if n not in self.axes]
        at = mesh.axis_names.index(name)
        behind = int(np.prod(mesh.axis_sizes[at + 1 :], dtype=int))
        if others:  # the number is only known where no axis is left to the compiler
            inner = op.fresh()
            axes = ", ".join([f'"{n}"' for n in others])
            number = op.emit(
                f"sdy.manual_computation() in_shardings=[] out_shardings=[<{mesh_text(mesh)}, []>] "
                f"manual_axes={{{axes}}} () {{ {inner} = stablehlo.partition_id : {INDEX} "
                f"sdy.return {inner} : {INDEX} }} : () -> {INDEX}"
            )
        else:
            number = op.emit(f"stablehlo.partition_id : {INDEX}")
        for operation, value in (("divide", behind), ("remainder", mesh.shape[name])):
            size = op.emit(f"stablehlo.constant dense<{value}> : {INDEX}")
            number = op.emit(f"stablehlo.{operation} {number}, {size} : {INDEX}")
        return number


__all__ = ["Manual", "several"]
