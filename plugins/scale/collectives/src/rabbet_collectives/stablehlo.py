"""Collectives as StableHLO, where each device computes by itself.

``manual`` says who communicates: ``manual.rows(axis)`` are the numbers of partitions, ``[row, place along the
axis]``, and ``manual.place(op, axis)`` writes the place of a partition along the axis. Groups of devices are
named by partition numbers.
"""

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def groups_of(manual, op):
    """The partitions that communicate with each other, a list of lists."""
    within = op.params["groups"]
    rows = manual.rows(op.params["axis"])
    if within is None:
        return rows.tolist()
    return [[int(row[i]) for i in group] for row in rows for group in within]


def groups_text(manual, op):
    """The attribute ``replica_groups``; groups of unequal size are filled up with -1."""
    groups = groups_of(manual, op)
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
            op, "all_reduce", x, f"{groups_text(manual, op)}, {CHANNEL}, use_global_device_ids", one, word
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
        f'"stablehlo.all_gather"({x}) {{all_gather_dim = 0 : i64, {groups_text(manual, op)}, {CHANNEL}, '
        f"use_global_device_ids}} : ({one.mlir}) -> {op.out.mlir}"
    )


def reduce_scatter(manual, op, x):
    out = op.out.update(shape=(1, *op.out.shape))
    attributes = f"scatter_dimension = 0 : i64, {groups_text(manual, op)}, {CHANNEL}, use_global_device_ids"
    x = region(op, "reduce_scatter", x, attributes, op.out.update(shape=()).mlir, "add", out)
    return op.emit(f"stablehlo.reshape {x} : ({out.mlir}) -> {op.out.mlir}")


def all_to_all(manual, op, x):
    count = len(groups_of(manual, op)[0])
    return op.emit(
        f'"stablehlo.all_to_all"({x}) {{split_dimension = 0 : i64, concat_dimension = 0 : i64, '
        f"split_count = {count} : i64, {groups_text(manual, op)}, {CHANNEL}}} : "
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
    number = manual.place(op, op.params["axis"])
    return op.emit(f"stablehlo.convert {number} : (tensor<ui32>) -> {op.out.mlir}")


__all__ = ["all_gather", "all_to_all", "axis_index", "ppermute", "reduce_scatter", "reduction"]
