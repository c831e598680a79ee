"""The primitive ``shard_map``: a program that each device of a mesh runs on its parts of arrays.

Parameters: ``jaxpr``, on parts; ``mesh``; ``manual``, the axes over which arrays are taken apart; a spec
for each operand and result; ``sharding``, which says where it runs.

What differentiates from outside is exact for any program whose results are as equal over devices as their
specs say: a program on parts is one linear map of all devices' values, and its transpose transposes each
operation. The cotangent of a result that several devices hold is shared out among them, that of an operand
that several devices were given is added up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rabbet import lax, tree
from rabbet.errors import ShardingError
from rabbet.extend.bodies import entering, interpret, put_together, take_apart, transposed_program
from rabbet.extend.passes import bodies_of, evaluate, stage
from rabbet.extend.primitive import Linear, Primitive, Zero
from rabbet.extend.transform import bind_axes, typeof
from rabbet_collectives import varying
from rabbet_collectives.primitives import psum
from rabbet_collectives.varying import axes_of_devices

from rabbet_parallel.explicit_sharding import entries_of
from rabbet_parallel.local_shapes import (
    global_type,
    local_type,
    shardings_text,
    sums_of,
    unmentioned,
    with_dimension,
)
from rabbet_parallel.manual_axes import Manual
from rabbet_parallel.partition_spec import PartitionSpec, axes_of, names_in
from rabbet_parallel.shardy_text import spec_text, unreduced_text

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op
    from rabbet.extend.rules import Site


TOKEN = "!stablehlo.token"


def shard_map_type(
    *avals: Any,
    jaxpr: Any,
    mesh: Any,
    manual: Any,
    in_specs: Any,
    out_specs: Any,
    sharding: Any,
    name: Any,
    typed: Any,
) -> Any:
    for aval, spec, local in zip(avals, in_specs, jaxpr.in_avals, strict=True):
        found = local_type(aval, mesh, spec, manual)
        if (found.shape, found.dtype) != (local.shape, local.dtype):
            raise TypeError(
                f"shard_map of {name!r} takes {local.str_short()} on each device, got {aval.str_short()} "
                f"as {spec}"
            )
    return tuple([global_type(a, mesh, s, manual) for a, s in zip(jaxpr.out_avals, out_specs, strict=True)])


shard_map = Primitive(
    "shard_map", shard_map_type, kinds=("body",), multiple_results=True, place="sharding", binds="manual",
    doc="a program that each device of a mesh runs on its parts of arrays",
)  # fmt: skip


def axes_of_op(params: Any) -> Any:
    """What to bind around its program: pairs of a manual axis and its size, and that types speak of them."""
    axes = [(n, params["mesh"].shape[n]) for n in params["manual"]]
    return axes_of_devices(axes, params["typed"])


@shard_map.rule("varying")
def varying_shard_map(op: Op, *ins: Any) -> Any:
    inner = op.params["manual"]
    if not op.params["typed"]:
        return [frozenset().union(*ins)] * len(op.params["out_specs"])
    return [
        frozenset([pair for pair in varying.axes_of(aval) if pair[0] not in inner])
        for aval in op.params["jaxpr"].out_avals
    ]


def of_nothing(params: Any) -> Any:
    """The program of operands without elements, which makes these itself."""
    jaxpr = params["jaxpr"]
    empties = lambda: [lax.full(a.shape, 0, a.dtype) for a in jaxpr.in_avals]
    with bind_axes(axes_of_op(params)):
        return stage(lambda: evaluate(jaxpr, empties()), [], jaxpr.name).jaxpr


@shard_map.rule("lower")
def lower_shard_map(op: Site, *names: Any) -> Any:
    params, mesh, jaxpr = op.params, op["mesh"], op["jaxpr"]
    in_specs, in_avals = params["in_specs"], op.in_avals
    if len(in_avals) > 1 and all(a.kind in "biufc" and not a.size for a in jaxpr.in_avals):
        # XLA makes constants of empty arrays, and then refuses a program of parts that was given several.
        jaxpr, names, in_specs, in_avals = of_nothing(params), (), (), ()
    threaded = op.ordered_effects  # each device keeps its own order
    count = len(threaded)
    alike = [PartitionSpec()] * count, [0] * count, [frozenset()] * count
    sums = lambda specs, avals: [sums_of(s, a) for s, a in zip(specs, avals, strict=True)]
    ins, outs = [
        shardings_text(
            mesh,
            params["manual"],
            [*specs, *alike[0]],
            [*[a.physical.ndim for a in avals], *alike[1]],
            [*sums(specs, avals), *alike[2]],
        )
        for specs, avals in ((in_specs, in_avals), (params["out_specs"], op.out_avals))
    ]
    axes = ", ".join([f'"{n}"' for n in params["manual"]])
    attributes = f"in_shardings = {ins}, out_shardings = {outs}, manual_axes = #sdy<manual_axes{{{axes}}}>"
    both, tokens = (in_avals, op.out_avals), [TOKEN] * len(threaded)
    types = [", ".join([*[a.mlir for a in avals], *tokens]) for avals in both]
    tail = f": ({types[0]}) -> ({types[1]})"
    around = op.manual
    by_hand = frozenset(params["manual"])
    if around is not None:
        refuse_other_mesh(params, around)
        by_hand |= around.axes
    if mesh.size == 1:  # a part is the whole, and not every compiler knows of such programs
        with op.by_itself(Manual(mesh, by_hand)):
            return op.inline(jaxpr, names)
    # The token of a call that one device makes is not handed on itself: its sharding would be lost.
    before = [op.emit(f"stablehlo.after_all {op.token(effect)} : {TOKEN}") for effect in threaded]
    operands = [*told(op, names, in_avals, mesh, in_specs), *before]
    head = f'"sdy.manual_computation"({", ".join(operands)}) <{{{attributes}}}>'
    count = len(op.out_avals) + len(threaded)
    with op.by_itself(Manual(mesh, by_hand)):
        made = op.emit_regions(
            head, [(jaxpr, [], threaded, threaded)], tail, count, closed=True, terminator="sdy.return"
        )
    outs = op.take_tokens(threaded, made)
    if any(sums(in_specs, in_avals)):  # what leaves is said to be added up
        outs = told(op, outs, op.out_avals, mesh, params["out_specs"], of_all=True)
    return outs


def told(op: Any, names: Any, avals: Any, mesh: Any, specs: Any, of_all: bool = False) -> Any:
    """Values of which the compiler is told again how they lie, if they are sums not added up yet."""
    found = []
    for name, aval, spec in zip(names, avals, specs, strict=True):
        unreduced = sums_of(spec, aval)
        if unreduced or of_all:
            rank = aval.physical.ndim
            cut = spec_text(mesh, (*spec, *[None] * (rank - len(spec))), bool(mesh.auto_axes))
            text = cut + unreduced_text(mesh, unreduced)
            name = op.emit(f"sdy.sharding_constraint {name} <{text}> : {aval.mlir}")
        found.append(name)
    return found


def refuse_other_mesh(params: Any, around: Any) -> None:
    """Raise for a ``shard_map`` within another one that takes apart what is apart, or has other devices."""
    mesh, twice = params["mesh"], sorted(around.axes.intersection(params["manual"]))
    same = (mesh.axis_names, mesh.axis_sizes) == (around.mesh.axis_names, around.mesh.axis_sizes)
    if twice or not same or mesh.group is not around.mesh.group:
        why = f"which takes apart {', '.join(map(repr, twice))}" if same and twice else f"on {around.mesh}"
        raise ShardingError(
            f"shard_map of {params['name']!r} on {mesh} stands within another one, {why}\n"
            "  to fix: use one mesh for both, and in each the axis_names that it takes apart"
        )


@shard_map.rule("body")
def body_shard_map(op: Op, interpreter: Any, args: Any) -> Any:
    params = op.params
    mesh = params["mesh"]
    leaves, structures = take_apart(interpreter, entering(interpreter, args))
    avals = [typeof(x) for x in args]
    manual = params["manual"]
    of_args = structures[: len(args)]  # behind them stands a state, which is whole on each device
    over = added_over(interpreter, params, leaves, of_args)
    specs = specs_of_leaves(interpreter, of_args, params["in_specs"], [a.ndim for a in avals], over)
    specs += [PartitionSpec()] * (len(leaves) - len(specs))
    typed = params["typed"]
    local = [local_type(typeof(x), mesh, s, manual, typed) for x, s in zip(leaves, specs, strict=True)]
    count = math.prod([mesh.shape[n] for n in over])
    of_part = interpreter if count == 1 else interpreter.of_part(count)
    with bind_axes(axes_of_op(params)):
        body, outs, consts = interpret(of_part, params["jaxpr"], structures, local)
    ranks = [a.ndim for a in params["jaxpr"].out_avals]
    in_specs = [*[PartitionSpec()] * len(consts), *specs]
    if interpreter.threads:
        return with_state(interpreter, params, body, (*consts, *leaves), in_specs, outs, ranks, over)
    out_specs = specs_of_leaves(interpreter, outs, params["out_specs"], ranks, over)
    return put_together(interpreter, outs, made(params, body, in_specs, out_specs)(*consts, *leaves))


def with_state(
    interpreter: Any, params: Any, body: Any, operands: Any, in_specs: Any, outs: Any, ranks: Any, over: Any
) -> Any:
    """The program for an interpreter that threads a state: each device begins with the one that is there, and
    their states leave as rows of which the interpreter makes one.
    """
    *outs, state = outs
    out_specs = specs_of_leaves(interpreter, outs, params["out_specs"], ranks, over)
    count = state.treedef.num_leaves

    def rows(*args: Any) -> Any:
        results = evaluate(body, args)
        first = len(results) - count
        return [*results[:first], *[lax.expand_dims(x, (0,)) for x in results[first:]]]

    with bind_axes(axes_of_op(params)):
        in_rows = stage(rows, body.in_avals, params["name"]).jaxpr
    before = interpreter.state
    call = made(params, in_rows, in_specs, [*out_specs, *[PartitionSpec(params["manual"])] * count])
    results = call(*operands)
    values = put_together(interpreter, outs, results[: len(results) - count])
    states = tree.unflatten(state.treedef, results[len(results) - count :])
    interpreter.state = interpreter.state_of_parts(before, states)
    return values


def added_over(interpreter: Any, params: Any, leaves: Any, structures: Any) -> tuple:
    """The axes over which the dimension lies that an interpreter adds: those that ``vmap`` was given, or over
    axes of type ``Explicit`` those that cut it already, if the program does not speak of them.
    """
    manual = params["manual"]
    told = tuple([n for n in names_in(interpreter.added_over) if n in manual])
    if told:
        return told
    cuts, at = set(), 0
    for structure in structures:
        if not hasattr(structure, "num_leaves"):
            at += 1
            continue
        axis = interpreter.added_dimension(structure)
        for leaf in leaves[at : at + structure.num_leaves]:
            entry = None if axis is None else entries_of(typeof(leaf))[axis]
            cuts.add(tuple([n for n in names_in(entry) if n in manual]))
        at += structure.num_leaves
    cuts.discard(())
    if len(cuts) != 1:
        return ()
    (cut,) = cuts
    named = {n for spec in (*params["in_specs"], *params["out_specs"]) for n in axes_of(spec)}
    return () if named.intersection(cut) or speaks_of(params["jaxpr"], cut) else cut


def speaks_of(jaxpr: Any, names: tuple) -> bool:
    """Whether an operation of a program has one of these axes among its parameters."""
    for eqn in jaxpr.equations:
        for value in eqn.op.params.values():
            parts = value if isinstance(value, (tuple, frozenset)) else (value,)
            if any(isinstance(part, str) and part in names for part in parts):
                return True
        if any(speaks_of(body, names) for _, body in bodies_of(eqn.op)):
            return True
    return False


def specs_of_leaves(interpreter: Any, structures: Any, specs: Any, ranks: Any, over: tuple) -> Any:
    """The specs of the leaves of payloads whose values have the given ones."""
    found = []
    for structure, spec, ndim in zip(structures, specs, ranks, strict=True):
        count, axis = 1, None
        if hasattr(structure, "num_leaves"):
            count, axis = structure.num_leaves, interpreter.added_dimension(structure)
        found += [spec if axis is None else with_dimension(spec, axis, ndim, over)] * count
    return found


def made(params: Any, jaxpr: Any, in_specs: Any, out_specs: Any) -> Any:
    """The operator for another program and its specs."""
    return shard_map.op(
        jaxpr=jaxpr, mesh=params["mesh"], manual=params["manual"], in_specs=tuple(in_specs),
        out_specs=tuple(out_specs), sharding=params["sharding"], name=params["name"], typed=params["typed"],
    )  # fmt: skip


@shard_map.rule("split")
def split_shard_map(op: Op, flags: Any) -> Any:
    """Residuals leave with one more dimension in front, along which the devices' own are put together."""
    from rabbet_autodiff.splitting import Halves, is_needed, split

    params = op.params
    mesh, manual, ins = params["mesh"], params["manual"], params["in_specs"]
    halves = split(params["jaxpr"], flags)
    count = halves.out_linear.count(False)
    kept = PartitionSpec(manual)
    n = halves.residuals
    local = [v.aval for v in halves.known.outvars[count:]]
    wide = [a.update(shape=(1, *a.shape)) for a in local]

    def known(*args: Any) -> Any:
        outs = evaluate(halves.known, args)
        return [*outs[:count], *[lax.reshape(r, w.shape) for r, w in zip(outs[count:], wide, strict=True)]]

    def linear(*args: Any) -> Any:
        p = len(halves.passed)
        held = [lax.reshape(r, a.shape) for r, a in zip(args[p : p + n], local, strict=True)]
        return evaluate(halves.linear, [*args[:p], *held, *args[p + n :]])

    passed_types = [params["jaxpr"].in_avals[i] for i in halves.passed]
    linear_types = [a for a, lin in zip(params["jaxpr"].in_avals, flags, strict=True) if lin]
    with bind_axes(axes_of_op(params)):
        known_jaxpr = stage(known, halves.known.in_avals, params["name"]).jaxpr
        linear_jaxpr = stage(linear, [*passed_types, *wide, *linear_types], params["name"]).jaxpr
    outs_known = [s for s, lin in zip(params["out_specs"], halves.out_linear, strict=True) if not lin]
    outs_linear = [s for s, lin in zip(params["out_specs"], halves.out_linear, strict=True) if lin]
    ins_known = [s for s, lin in zip(ins, flags, strict=True) if not lin]
    ins_linear = [
        *[ins[i] for i in halves.passed],
        *[kept] * n,
        *[s for s, lin in zip(ins, flags, strict=True) if lin],
    ]
    linear_in = [("operand", i) for i in halves.passed]
    linear_in += [("residual", k) for k in range(n)]
    linear_in += [("operand", i) for i, lin in enumerate(flags) if lin]
    return Halves(
        known=made(params, known_jaxpr, ins_known, [*outs_known, *[kept] * n])
        if is_needed(known_jaxpr)
        else None,
        known_in=tuple([i for i, lin in enumerate(flags) if not lin]),
        linear=made(params, linear_jaxpr, ins_linear, outs_linear) if any(halves.out_linear) else None,
        linear_in=tuple(linear_in),
        out_linear=halves.out_linear,
        residual_types=tuple([global_type(w, mesh, kept, manual) for w in wide]),
    )


def of_cotangent(spec: Any) -> Any:
    """The spec of cotangents: unreduced and reduced change places."""
    return spec.update(unreduced=spec.reduced, reduced=spec.unreduced)


@shard_map.rule("transpose")
def transpose_shard_map(op: Op, cts: Any, *operands: Any) -> Any:
    params = op.params
    mesh, manual, ins, jaxpr = params["mesh"], params["manual"], params["in_specs"], params["jaxpr"]
    linear = tuple([type(x) is Linear for x in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    with bind_axes(axes_of_op(params)):
        body, produced, captured = transposed_program(jaxpr, linear, nonzero)
    known = [x for x in operands if type(x) is not Linear]
    known_specs = [s for s, lin in zip(ins, linear, strict=True) if not lin]
    given = [ct for ct, there in zip(cts, nonzero, strict=True) if there]
    given_specs = [of_cotangent(s) for s, there in zip(params["out_specs"], nonzero, strict=True) if there]
    given_types = [a.cotangent for a, there in zip(jaxpr.out_avals, nonzero, strict=True) if there]
    parts = [
        local_type(global_type(a, mesh, s, manual), mesh, s, manual, params["typed"])
        for a, s in zip(given_types, given_specs, strict=True)
    ]
    targets = [of_cotangent(s) for s, lin in zip(ins, linear, strict=True) if lin]
    targets = [s for s, there in zip(targets, produced, strict=True) if there]
    first = len(captured) + len(known)

    def shared_out(ct: Any, spec: Any, aval: Any) -> Any:
        shared = unmentioned(spec, mesh, manual)
        if params["typed"]:
            shared = [n for n in shared if varying.differs(aval, n)]
            ct = varying.fit(ct, aval)
        count = math.prod([mesh.shape[n] for n in shared])
        return ct if count == 1 or typeof(ct).kind not in "fc" else lax.mul(ct, 1.0 / count)

    def added_up(ct: Any, spec: Any) -> Any:
        if params["typed"]:  # as the types of operands have asked for already
            return ct
        for name in unmentioned(spec, mesh, manual):
            ct = psum(ct, axis=name, size=mesh.shape[name], groups=None)
        return ct

    def backwards(*args: Any) -> Any:
        cotangents = zip(args[first:], given_specs, given_types, strict=True)
        ends = [shared_out(ct, s, a) for ct, s, a in cotangents]
        found = evaluate(body, [*args[:first], *ends])
        return [added_up(ct, s) for ct, s in zip(found, targets, strict=True)]

    held = [typeof(c) for c in captured]
    known_types = [a for a, lin in zip(jaxpr.in_avals, linear, strict=True) if not lin]
    with bind_axes(axes_of_op(params)):
        program = stage(backwards, [*held, *known_types, *parts], f"transpose_{params['name']}").jaxpr
    specs = [*[PartitionSpec()] * len(captured), *known_specs, *given_specs]
    results = iter(made(params, program, specs, targets)(*captured, *known, *given))
    kept = iter(produced)
    return tuple([next(results) if lin and next(kept) else None for lin in linear])


__all__ = ["made", "shard_map"]
