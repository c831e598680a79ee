"""``plan``: compile a function for hardware that need not be here, and tell what it would take there."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import rabbet as rb
from rabbet import tree
from rabbet.errors import ConfigError, ShardingError
from rabbet.extend.backend import compile_ahead
from rabbet.extend.sharding import is_described

from rabbet_plan import printing
from rabbet_plan.arithmetic import flops, matrix_flops, traffic
from rabbet_plan.collective_times import Place
from rabbet_plan.collectives import Collective, collectives
from rabbet_plan.estimate import Estimate, estimate, overlap_of
from rabbet_plan.execution_counts import steps, total
from rabbet_plan.hardware import Hardware, hardware_of
from rabbet_plan.hlo import Module
from rabbet_plan.library_memory import held_by_libraries
from rabbet_plan.memory import Buffer, Memory, largest_buffers, memory_of
from rabbet_plan.native_calls import NativeCall, native_calls, tell_costs
from rabbet_plan.overlap import Overlap
from rabbet_plan.source_lines import is_name, lines_in, with_names
from rabbet_plan.topologies import place_of
from rabbet_plan.training import Training, training_of
from rabbet_plan.transfers import Transfers, transfers

NO_TRANSFERS = Transfers(0, 0)
SHOWN = 64  # how many buffers are kept


@dataclass(frozen=True)
class Holding:
    """A buffer as it is told of. Attributes: ``bytes``, ``use``, ``type``, ``what`` (an argument's name, or
    the compiler's for the operation) and ``where``, the line of the program, or an empty text.
    """

    bytes: int
    use: str
    type: str
    what: str
    where: str


@dataclass(frozen=True)
class Exchange:
    """Collective operations of one kind over the same axes, from one line.

    Attributes: ``kind``, ``axes``, ``size`` (of a group), ``count`` (how often in a step), ``bytes`` (what
    one device puts in, or gets where that is more, in a step), ``sent`` (what one device sends in a step, by
    a ring) and ``where``.
    """

    kind: str
    axes: tuple[str, ...]
    size: int
    count: int
    bytes: int
    sent: float
    where: str


@dataclass(frozen=True)
class Plan:
    """What a program takes of each device.

    Attributes:
      name: the function's.
      topology, device_kind, devices, hosts: the hardware, and how many there are.
      mesh: the sizes of its axes by name.
      memory: a ``Memory``.
      capacity: the memory of a device, None where it is not known.
      buffers: ``Holding``s at the time when most memory is in use, the largest first; ``buffers_from`` says
        how they were found.
      collectives: ``Collective``s in the program's order.
      exchanges: the same, summed by kind, axes and line.
      flops, matrix_flops: floating-point operations of one device in a step; those of matrix products and
        convolutions.
      useful: the share of all devices' matrix operations that the program asks for; the rest is done by
        several devices alike. None where it has none.
      traffic: bytes between a device's memory and its processor in a step.
      estimate: an ``Estimate``, None for hardware of which nothing is published.
      unknown_loops: how many loops have a number of rounds that is not known; each counts as one round.
      compile_seconds: how long it took to compile.
      native_calls: ``NativeCall``s: the native functions that the program calls, and what the rules ``cost``
        of their primitives say of them.
      transfers: bytes that go to the host's memory and come back in a step, ``to_host`` and ``from_host``.
      overlap: an ``Overlap``: what of the communication hides behind what, in the compiler's order; None
        where there is no estimate.
      hardware: what is estimated with, or None.
      hlo, module: the compiled program, as text and as the account reads it.

    Example:
      >>> from rabbet import planning
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> mesh = planning.topology("cpu:2").mesh({"data": 2})
      >>> x = rb.ShapeDtypeStruct((8, 4), "float32", sharding=NamedSharding(mesh, P("data")))
      >>> found = planning.plan(lambda x: x @ x.T, x)
      >>> found.mesh, found.matrix_flops
      ({'data': 2}, 256.0)
    """

    name: str
    topology: str
    device_kind: str
    devices: int
    hosts: int
    mesh: dict[str, int]
    memory: Memory
    capacity: int | None
    buffers: tuple[Holding, ...]
    buffers_from: str
    collectives: tuple[Collective, ...]
    exchanges: tuple[Exchange, ...]
    flops: float
    matrix_flops: float
    useful: float | None
    traffic: float
    estimate: Estimate | None
    unknown_loops: int
    compile_seconds: float
    transfers: Transfers = NO_TRANSFERS
    native_calls: tuple[NativeCall, ...] = ()
    overlap: Overlap | None = None
    hardware: Hardware | None = field(repr=False, default=None)
    hlo: str = field(repr=False, default="")
    module: Module | None = field(repr=False, compare=False, default=None)

    @property
    def fits(self) -> bool | None:
        """Whether a device has the memory; None where that is not known."""
        return None if self.capacity is None else self.memory.needed <= self.capacity

    def bytes_by_axis(self, measure: str = "bytes") -> dict[tuple[str, ...], float]:
        """The bytes of collective operations in a step by the axes over which they go; ``measure``:
        ``"bytes"`` or ``"sent"``, see ``Exchange``.
        """
        found: dict[tuple[str, ...], float] = {}
        for each in self.exchanges:
            found[each.axes] = found.get(each.axes, 0) + getattr(each, measure)
        return found

    def training(self, parameters: float, tokens: float, **options: Any) -> Training:
        """What the step means for training: use of the hardware by 6 N D, tokens per second, price.

        Args:
          parameters: N, of the model; of one with experts those that a token meets.
          tokens: D, in a step.
          options: ``stages`` and ``microbatches`` of a pipeline, ``between_failures``, ``checkpoint`` and
            ``restart`` in seconds, ``price`` of a device for an hour, and ``dtype`` of the products, by which
            the peak is chosen (``"bf16"``); see ``planning.training_of``.

        Raises:
          ConfigError: for hardware of which nothing is published.
        """
        if self.estimate is None or self.hardware is None:
            raise ConfigError(
                f"training: of {self.topology} no speeds are published; give plan(..., hardware=...), such "
                "as planning.measured_hardware()"
            )
        dtype = options.pop("dtype", "bf16")
        return training_of(
            self.estimate.most, devices=self.devices, peak=self.hardware.speed(dtype), parameters=parameters,
            tokens=tokens, products=self.matrix_flops, **options,
        )  # fmt: skip

    def report(self, top: int = 8) -> str:
        """The plan as text, with so many buffers and collective operations."""
        return printing.report(self, top)

    def as_dict(self) -> dict[str, Any]:
        """The plan as what JSON can hold."""
        return printing.as_dict(self)

    def __str__(self):
        return self.report()


def plan(
    fun: Callable[..., Any],
    *args: Any,
    compiler_options: dict | None = None,
    hardware: Hardware | None = None,
    **kwargs: Any,
) -> Plan:
    """Compile a function for the devices of its arguments' shardings, and tell what a step takes of each.

    Nothing is run and no array is made.

    Args:
      fun: a function, or what ``rb.jit`` made of one.
      args, kwargs: its arguments: ``ShapeDtypeStruct``s with shardings over the mesh of a topology (or
        arrays), in pytrees.
      compiler_options: by name, as for ``Lowered.compile``.
      hardware: speeds to estimate with, such as ``planning.measured_hardware()``; None: what is published of
        the topology.

    Returns:
      a ``Plan``.

    Raises:
      ShardingError: where no argument is over a mesh.
      CompileError: what the compiler says against the program; that a device has too little memory.

    Example:
      >>> from rabbet import planning
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> mesh = planning.topology("cpu:4").mesh({"data": 4})
      >>> x = rb.ShapeDtypeStruct((8, 1024), "float32", sharding=NamedSharding(mesh, P("data")))
      >>> found = planning.plan(lambda x: x.sum(), x)
      >>> found.memory.arguments, [(c.kind, c.axes, c.bytes) for c in found.collectives]
      (8192, [('all-reduce', ('data',), 4)])
    """
    return planned(fun, args, kwargs, compiler_options, hardware)


def planned(
    fun, args, kwargs, compiler_options=None, hardware=None, places: Sequence[Place] | None = None
) -> Plan:
    """The same; ``places``: where the devices stand, None for where they do."""
    if not callable(fun):
        raise TypeError(f"plan takes a function, got {type(fun).__name__} {fun!r:.40}")
    if not isinstance(hardware, Hardware | None):
        raise TypeError(f"plan: hardware is a planning.Hardware, got {hardware!r:.60}")
    if not isinstance(compiler_options, Mapping | None):
        raise TypeError(f"plan: compiler_options is a dict, got {compiler_options!r:.60}")
    jitted = fun if hasattr(fun, "lower") else rb.jit(fun)
    lowered = jitted.lower(*args, **kwargs)
    spread = lowered.spread
    if spread is None:
        raise ShardingError(
            f"plan: no argument of {lowered.fun_name!r} has a sharding over the devices of a topology\n"
            "  to fix: give ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, PartitionSpec(...)))"
            ', with mesh = rabbet.planning.topology("cpu:8").mesh({"data": 8})'
        )
    started = time.perf_counter()
    lowering = lowered.lowering
    text, positions = with_names(lowering.module.text)
    options = {**(lowered.asked.options or {}), **(compiler_options or {})} or None
    compiled = compile_ahead(lowering._replace(module=lowering.module._replace(text=text)), None, options)
    seconds = time.perf_counter() - started
    names = argument_names(fun, args, kwargs, len(lowered.program.closed.consts))
    kept = [names[i] if i < len(names) else f"value {i}" for i in lowering.kept]
    return examined(lowered, compiled, spread.group, positions, kept, seconds, hardware, places)


def examined(lowered, compiled, group, positions, names, seconds, hardware=None, places=None) -> Plan:
    """The ``Plan`` of a compiled program."""
    proto = compiled.module_proto()
    module = Module(proto)
    lowering = lowered.lowering
    called = tell_costs(lowering.jaxpr, module, lowering.module.key_text, lowering.platform)
    mesh = mesh_of(lowered.spread, len(group))
    all_steps = steps(module)
    found = collectives(all_steps, mesh, len(group))
    memory = memory_of(compiled.memory_analysis() or {}, held_by_libraries(module))
    buffers, how = largest_buffers(module, compiled.buffer_assignment(), SHOWN)
    topology = group.client.topology if is_described(group) else ""
    hardware = hardware or hardware_of(topology)
    places = places or [place_of(device) for device in group.devices]
    of_products = total(all_steps, matrix_flops)
    whole = whole_matrix_flops(lowered)
    place = lambda name: ", ".join(lines_in(name, positions))
    share = min(1.0, whole / (of_products * len(group))) if whole and of_products else None
    return Plan(
        name=lowered.fun_name,
        topology=f"cpu:{topology}" if topology.isdigit() else topology or str(group),
        device_kind=group.device_kind,
        devices=len(group),
        hosts=len({p.host for p in places}),
        mesh=mesh,
        memory=memory,
        capacity=None if hardware is None else hardware.memory,
        buffers=tuple([told(b, positions, names) for b in buffers]),
        buffers_from=how,
        collectives=tuple(found),
        exchanges=tuple(summed(found, positions)),
        flops=total(all_steps, flops),
        matrix_flops=of_products,
        useful=share,
        traffic=total(all_steps, traffic),
        estimate=None if hardware is None else estimate(all_steps, found, hardware, places),
        overlap=None if hardware is None else overlap_of(module, found, hardware, places, place),
        unknown_loops=len([s for s in all_steps if s.instruction.opcode == "while" and not counted(s)]),
        compile_seconds=seconds,
        transfers=transfers(all_steps),
        native_calls=native_calls(all_steps, called),
        hardware=hardware,
        hlo=compiled.hlo_text(),
        module=module,
    )


def counted(step) -> bool:
    from rabbet_plan.execution_counts import trip_count

    return trip_count(step.instruction) is not None


def whole_matrix_flops(lowered) -> float | None:
    """The operations of matrix products of the program as it is written, for all devices together; None
    where a part of it is written for each device (``shard_map``), which cannot be told from the rest.
    """
    from rabbet.extend.native import hlo_computation

    if "sdy.manual_computation" in lowered.lowering.module.key_text:
        return None
    module = Module(hlo_computation(lowered.lowering.module.key_text).as_serialized_hlo_module_proto())
    return total(steps(module), matrix_flops)


def mesh_of(spread, devices: int) -> dict[str, int]:
    """The sizes of the axes of the mesh that a program's shardings are on."""
    for sharding in (spread.like, *spread.ins, *(spread.outs or ())):
        mesh = getattr(sharding, "mesh", None)
        if mesh is not None and mesh.axis_names:
            return dict(mesh.shape)
    return {"devices": devices}


def argument_names(fun, args, kwargs, captured: int) -> list[str]:
    """What a person calls each array among the arguments: ``params['w']``; captured ones come first."""
    try:
        parameters = list(inspect.signature(fun).bind(*args, **kwargs).arguments.items())
    except (TypeError, ValueError):
        parameters = [*[(f"args[{i}]", a) for i, a in enumerate(args)], *kwargs.items()]
    found = [f"captured array {i}" for i in range(captured)]
    for name, value in parameters:
        leaves, _ = tree.flatten_with_path(value)
        found += [f"{name}{tree.keystr(path)}" for path, _ in leaves]
    return found


def told(buffer: Buffer, positions, names: Sequence[str]) -> Holding:
    """A buffer with the names that a person knows."""
    where = ", ".join(lines_in(buffer.op_name, positions)[:2])
    what = buffer.opcode if is_name(buffer.instruction) else buffer.instruction
    if buffer.parameter is not None and buffer.parameter < len(names):
        what = names[buffer.parameter]
    return Holding(buffer.bytes, buffer.use, buffer.type, what, where)


def summed(found: Sequence[Collective], positions) -> list[Exchange]:
    """Collective operations of one kind, over the same axes and from the same line, as one; most bytes
    first.
    """
    rows: dict[tuple, list] = {}
    for each in found:
        where = ", ".join(lines_in(each.op_name, positions)[:2])
        row = rows.setdefault((each.kind, each.axes, each.size, where), [0, 0, 0.0])
        row[0] += each.times
        row[1] += each.times * each.bytes
        row[2] += each.times * each.sent
    made = [
        Exchange(kind, axes, size, count, put, sent, where)
        for (kind, axes, size, where), (count, put, sent) in rows.items()
    ]
    return sorted(made, key=lambda e: -e.bytes)


__all__ = ["Exchange", "Holding", "Plan", "plan", "planned"]
