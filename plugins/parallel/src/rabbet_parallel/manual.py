"""Where each device computes by itself: how collectives are written there.

A ``Manual`` says over which axes of which mesh the text that is being written is split by hand. Groups of
devices are named by partition numbers: the places of devices in the mesh, row by row.
"""

from typing import NamedTuple

import numpy as np
from rabbet.errors import ShardingError, UnboundAxisError

from rabbet_parallel.meshes import Mesh
from rabbet_parallel.named import mesh_text

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
INDEX = "tensor<ui32>"


class Manual(NamedTuple):
    """A mesh, and those of its axes over which devices compute by themselves."""

    mesh: Mesh
    axes: frozenset

    def lower(self, op, *names):
        """Write a collective; the names of its results."""
        name = op.params["axis"]
        if name not in self.axes:
            raise UnboundAxisError(
                f"{op.primitive.name} communicates along the axis {name!r}, and shard_map splits its "
                "function "
                f"over {', '.join(map(repr, sorted(self.axes)))}\n  to fix: name the axis in axis_names, "
                "or map "
                f"the function, as in rb.vmap(f, axis_name={name!r})"
            )
        if op.params["size"] != self.mesh.shape[name]:
            raise ShardingError(
                f"{op.primitive.name}: the axis {name!r} was of size {op.params['size']} when the "
                "function was "
                f"traced, and is of size {self.mesh.shape[name]} in {self.mesh}"
            )
        return LOWERINGS[op.primitive.name](self, op, *names)

    def rows(self, name):
        """``[row, place along the axis]`` of partition numbers."""
        numbers = np.arange(self.mesh.size).reshape(self.mesh.axis_sizes)
        return np.moveaxis(numbers, self.mesh.axis_names.index(name), -1).reshape(-1, self.mesh.shape[name])

    def groups(self, op):
        """The partitions that communicate with each other, a list of lists."""
        within = op.params["groups"]
        rows = self.rows(op.params["axis"])
        if within is None:
            return rows.tolist()
        return [[int(row[i]) for i in group] for row in rows for group in within]

    def groups_text(self, op):
        """The attribute ``replica_groups``; groups of unequal size are filled up with -1."""
        groups = self.groups(op)
        longest = max(map(len, groups))
        filled = [group + [-1] * (longest - len(group)) for group in groups]
        return f"replica_groups = dense<{filled}> : tensor<{len(filled)}x{longest}xi64>"


def reduction(combine):
    """The lowering of a reduction over the members."""

    def lower(manual, op, x):
        one = op.out.update(shape=()).mlir
        word = "or" if op.out.kind == "b" and combine == "maximum" else combine
        word = "and" if op.out.kind == "b" and combine == "minimum" else word
        return region(
            op, "all_reduce", x, f"{manual.groups_text(op)}, {CHANNEL}, use_global_device_ids", one, word
        )

    return lower


def region(op, name, x, attributes, one, combine, out=None):
    """An operation that combines the members' elements of type ``one``."""
    aval = op.in_avals[0]
    a, b, c = [op.fresh() for _ in range(3)]
    body = (
        f"^bb0({a}: {one}, {b}: {one}): {c} = stablehlo.{combine} {a}, {b} : {one} "
        f"stablehlo.return {c} : {one}"
    )
    return op.emit(
        f'"stablehlo.{name}"({x}) ({{ {body} }}) {{{attributes}}} : ({aval.mlir}) -> {(out or aval).mlir}'
    )


def all_gather(manual, op, x):
    aval = op.in_avals[0]
    one = aval.update(shape=(1, *aval.shape))
    x = op.emit(f"stablehlo.reshape {x} : ({aval.mlir}) -> {one.mlir}")
    return op.emit(
        f'"stablehlo.all_gather"({x}) {{all_gather_dim = 0 : i64, {manual.groups_text(op)}, {CHANNEL}, '
        f"use_global_device_ids}} : ({one.mlir}) -> {op.out.mlir}"
    )


def reduce_scatter(manual, op, x):
    out = op.out.update(shape=(1, *op.out.shape))
    attributes = f"scatter_dimension = 0 : i64, {manual.groups_text(op)}, {CHANNEL}, use_global_device_ids"
    x = region(op, "reduce_scatter", x, attributes, op.out.update(shape=()).mlir, "add", out)
    return op.emit(f"stablehlo.reshape {x} : ({out.mlir}) -> {op.out.mlir}")


def all_to_all(manual, op, x):
    count = len(manual.groups(op)[0])
    return op.emit(
        f'"stablehlo.all_to_all"({x}) {{split_dimension = 0 : i64, concat_dimension = 0 : i64, '
        f"split_count = {count} : i64, {manual.groups_text(op)}, {CHANNEL}}} : "
        f"({op.in_avals[0].mlir}) -> {op.out.mlir}"
    )


def ppermute(manual, op, x):
    rows = manual.rows(op.params["axis"])
    pairs = [[int(row[a]), int(row[b])] for row in rows for a, b in op.params["perm"]]
    listed = f"dense<{pairs}>" if pairs else "dense<>"
    return op.emit(
        f'"stablehlo.collective_permute"({x}) {{source_target_pairs = {listed} : '
        f"tensor<{len(pairs)}x2xi64>, {CHANNEL}}} : ({op.in_avals[0].mlir}) -> {op.out.mlir}"
    )


def axis_index(manual, op):
    """From the partition's number: divided by the sizes of the axes behind, modulo its own size."""
    mesh, name = manual.mesh, op.params["axis"]
    others = [n for n in mesh.axis_names if n not in manual.axes]
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
    return op.emit(f"stablehlo.convert {number} : ({INDEX}) -> {op.out.mlir}")


LOWERINGS = {
    "psum": reduction("add"),
    "pmax": reduction("maximum"),
    "pmin": reduction("minimum"),
    "all_gather": all_gather,
    "reduce_scatter": reduce_scatter,
    "all_to_all": all_to_all,
    "ppermute": ppermute,
    "axis_index": axis_index,
}

__all__ = ["Manual"]
