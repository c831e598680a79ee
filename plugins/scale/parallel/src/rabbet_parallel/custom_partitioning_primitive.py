"""The primitive ``custom_partitioning``: a function whose author says how the compiler cuts it up.

Where the compiler spreads a program over devices, the function is one call in it, with a sharding rule that
tells which dimensions go together; the compiler then asks what each device is to do. Everywhere else, on one
device, within ``shard_map`` and for transformations, it is its own program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet import ShapeDtypeStruct, config, tree
from rabbet.errors import ShardingError
from rabbet.extend.functions import array_or_tracer, convert_leaves, describe_value
from rabbet.extend.passes import consts_as_inputs, evaluate, stage
from rabbet.extend.primitive import Primitive
from rabbet.extend.sharding import Sharding, TiledSharding
from rabbet.extend.transform import bind_axes, typeof

from rabbet_parallel.manual_axes import Manual
from rabbet_parallel.meshes import AxisType, Mesh
from rabbet_parallel.named_sharding import NamedSharding, spec_of_tiles
from rabbet_parallel.partition_spec import PartitionSpec
from rabbet_parallel.sharding_rules import whole_dimensions

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op
    from rabbet.extend.rules import Site


def partitioned_type(*avals: Any, jaxpr: Any, call: Any, consts: Any) -> Any:
    return jaxpr.out_avals


custom_partitioning = Primitive(
    "custom_partitioning", partitioned_type, kinds=("body",), multiple_results=True,
    doc="a function whose author says how it is cut up over devices",
)  # fmt: skip


@custom_partitioning.rule("lower")
def lower_custom_partitioning(op: Site, *names: Any) -> Any:
    jaxpr, call, consts = op.params["jaxpr"], op.params["call"], op.params["consts"]
    if not op.is_cut_up:
        return op.inline(jaxpr, names)
    if op.ordered_effects:
        raise NotImplementedError(f"{call.who}: ordered effects happen in programs on one device only")
    asked = PartitionedCall(call, mesh_of(op.like), op.in_avals[consts:], op.out_avals)
    target, attributes = op.partitioner(asked)
    if asked.rule is not None:
        shapes = [[a.shape for a in avals] for avals in (asked.in_avals, asked.out_avals)]
        attributes += f", sdy.sharding_rule = {asked.rule.text(*shapes, call.who)}"
    types = ", ".join([a.mlir for a in asked.in_avals]), ", ".join([a.mlir for a in asked.out_avals])
    text = f"stablehlo.custom_call {target}({', '.join(names[consts:])}) {{{attributes}}} "
    return op.emit_all(f"{text}: ({types[0]}) -> ({types[1]})", len(op.out_avals))


@custom_partitioning.rule("body")
def body_custom_partitioning(op: Op, interpreter: Any, args: Any) -> Any:
    return interpreter.at_this_level(evaluate, op.params["jaxpr"], args)


@custom_partitioning.rule("steps")
def steps_of_custom_partitioning(op: Op, args: Any, run: Any) -> None:
    run(op.params["jaxpr"], args)


held = Primitive(
    "held", lambda *, value: value.aval,
    doc="an array that stands in the program's text",
)  # fmt: skip


@held.rule("lower")
def lower_held(op: Site) -> Any:
    return op.constant(op.params["value"].array, op.out)


class Held:
    """An array within a program, as NumPy has it."""

    def __init__(self, x: Any) -> None:
        self.aval, self.array = typeof(x), np.asarray(x)


def mesh_of(sharding: Any) -> Any:
    """The mesh of a sharding that arguments have, with the compiler's own axes."""
    if not isinstance(sharding, NamedSharding):
        return None
    mesh = sharding.mesh
    return mesh.update(axis_types=(AxisType.Auto,) * len(mesh.axis_names))


class PartitionedCall:
    """What the compiler asks about one call in a program."""

    def __init__(self, call: Any, mesh: Any, in_avals: Any, out_avals: Any) -> None:
        if mesh is None:
            raise ShardingError(
                f"{call.who}: its program runs over several devices, and none of its arguments is laid out "
                "on a mesh\n  to fix: lay one of them out with rb.device_put(x, NamedSharding(mesh, spec))"
            )
        self.call, self.mesh, self.in_avals, self.out_avals = call, mesh, in_avals, out_avals
        self.rule = call.rule(mesh, in_avals, out_avals)
        self.settings = config.overrides()

    def __call__(self, ins: Any, outs: Any) -> Any:
        with config.override(**self.settings):
            return self.answer(ins, outs)

    def answer(self, ins: Any, outs: Any) -> Any:
        """What each device computes, and how operands and results lie: see ``Site.partitioner``."""
        call = self.call
        of_ins, of_outs = (self.rule.operands, self.rule.results) if self.rule else (None, None)
        args = tree.unflatten(call.in_tree, self.described(self.in_avals, ins, of_ins))
        result = tree.unflatten(call.out_tree, self.described(self.out_avals, outs, of_outs))
        answer = call.partition(*call.static, self.mesh, args, result)
        if not isinstance(answer, tuple) or len(answer) != 4:
            raise TypeError(
                f"{call.who}: partition returns (mesh, function, result_shardings, arg_shardings), got "
                f"{describe_value(answer)}"
            )
        mesh, function, of_result, of_args = answer
        if not isinstance(mesh, Mesh) or mesh.group is not self.mesh.group:
            raise ShardingError(
                f"{call.who}: partition returned {mesh!r:.60}, and the program's mesh is {self.mesh}"
            )
        of_args = self.given(of_args, call.in_tree, self.in_avals, "arg_shardings", mesh)
        of_result = self.given(of_result, call.out_tree, self.out_avals, "result_shardings", mesh)
        types = [part(a, s) for a, s in zip(self.in_avals, of_args, strict=True)]
        wanted = [part(a, s) for a, s in zip(self.out_avals, of_result, strict=True)]
        jaxpr = self.staged(function, mesh, types, wanted)
        tiles = lambda avals, given: [s.tiles(a.ndim) for a, s in zip(avals, given, strict=True)]
        manual = Manual(mesh, frozenset(mesh.axis_names))
        return jaxpr, manual, tiles(self.in_avals, of_args), tiles(self.out_avals, of_result)

    def described(self, avals: Any, tiles: Any, mappings: Any) -> Any:
        """Shapes, dtypes and shardings, as ``partition`` gets them."""
        if mappings is not None:
            whole = whole_dimensions(self.rule, [a.shape for a in avals], mappings)
            tiles = [uncut(t, dims) for t, dims in zip(tiles, whole, strict=True)]
        pairs = zip(avals, tiles, strict=True)
        return [ShapeDtypeStruct(a.shape, a.dtype, sharding=self.sharding(t)) for a, t in pairs]

    def sharding(self, tiles: Any) -> Any:
        """A sharding on the mesh that is cut so."""
        spec = spec_of_tiles(self.mesh, *tiles) if self.call.decode_shardings else None
        if spec is None:
            return TiledSharding(self.mesh.group, *tiles)
        ndim = len(tiles[0])
        return NamedSharding(self.mesh, PartitionSpec(*spec, *[None] * (ndim - len(spec))))

    def given(self, shardings: Any, treedef: Any, avals: Any, what: Any, mesh: Any) -> Any:
        """The shardings that ``partition`` returned, one for each array."""
        flat, found = tree.flatten(shardings)
        if found != treedef:
            one = treedef.num_leaves == 1 and len(flat) == 1
            if not one:
                raise TypeError(
                    f"{self.call.who}: partition returned {what} as {found}, and the arrays are {treedef}"
                )
        for sharding, aval in zip(flat, avals, strict=True):
            if not isinstance(sharding, Sharding):
                raise TypeError(f"{self.call.who}: {what} holds shardings, got {describe_value(sharding)}")
            if sharding.group is not mesh.group:
                raise ShardingError(f"{self.call.who}: {what} has {sharding}, which is not on {mesh}")
            sharding.check(aval.shape)
        return flat

    def staged(self, function: Any, mesh: Any, types: Any, wanted: Any) -> Any:
        """The program of one device."""
        who, out_tree = self.call.who, self.call.out_tree

        def flat(*parts: Any) -> Any:
            outs, found = tree.flatten(function(*tree.unflatten(self.call.in_tree, list(parts))))
            if found != out_tree:
                raise TypeError(
                    f"{who}: the function of a part returned {found}, and the whole one {out_tree}"
                )
            return convert_leaves(
                array_or_tracer, outs,
                lambda i, x: f"{who}: the function of a part returned {describe_value(x)}, leaf {i}",
            )  # fmt: skip

        with bind_axes([(n, mesh.shape[n]) for n in mesh.axis_names]):
            closed = stage(flat, types, self.call.name)
            for i, (got, want) in enumerate(zip(closed.out_avals, wanted, strict=True)):
                if (got.shape, got.dtype) != (want.shape, want.dtype):
                    raise TypeError(
                        f"{who}: the function of a part returned {got.str_short()} as result leaf {i}, and "
                        f"the result's sharding asks for {want.str_short()}"
                    )
            if not closed.consts:
                return closed.jaxpr
            consts = [Held(c) for c in closed.consts]
            body = consts_as_inputs(closed)
            whole = lambda *parts: evaluate(body, [*[held(value=c) for c in consts], *parts])
            return stage(whole, types, self.call.name).jaxpr


def uncut(tiles: Any, dimensions: Any) -> Any:
    """Tiles in which these dimensions are whole."""
    counts, parts = tiles
    parts = parts.copy()
    parts[:, dimensions] = 0
    return tuple([1 if d in dimensions else n for d, n in enumerate(counts)]), parts


def part(aval: Any, sharding: Any) -> Any:
    """The type of one device's part."""
    return aval.update(shape=sharding.shard_shape(aval.shape), spread=None)


__all__ = ["PartitionedCall", "custom_partitioning"]
