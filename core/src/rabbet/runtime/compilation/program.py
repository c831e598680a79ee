"""From a program to something that runs: passes, text, cache, compiler, and the fast call at the end.

An ``Executable`` belongs to one program on one device. Its ``runner`` is a closure that takes ``Array``
arguments of the exact placements it was made for and does nothing but execute and wrap: whoever calls it
has looked it up by those placements.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import passes
from rabbet.config import config
from rabbet.config.log_levels import logger
from rabbet.errors import PeerLost
from rabbet.lowering import custom_calls
from rabbet.lowering.module import lower_program
from rabbet.lowering.target import Target
from rabbet.messages import second_looks
from rabbet.messages.signal_errors import is_of_handler
from rabbet.program.sharded_types import memory_of
from rabbet.runtime.arrays import callbacks, memory_exhausted
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.arrays.placement import placed_by, placement
from rabbet.runtime.arrays.sharding import EverywhereSharding, SingleDeviceSharding
from rabbet.runtime.caching import disk_cache, program_limit, read_ahead
from rabbet.runtime.caching.shared_programs import Loaded, estimate, kept_programs, shared
from rabbet.runtime.compilation import (
    custom_partitioning,
    ir_dumps,
    multi_process_compilation,
    program_shardings,
)
from rabbet.runtime.compilation.program_shardings import Spread
from rabbet.runtime.execution import dispatch, effects, in_flight, interruptible, multi_process, nan_checks
from rabbet.runtime.jaxlib import adapter, raw_shards
from rabbet.runtime.platforms import backends, compile_options, hook_calls
from rabbet.runtime.platforms.device_groups import DeviceGroup

if TYPE_CHECKING:
    from rabbet.runtime.arrays.placement import Placement
    from rabbet.runtime.platforms.devices import Device
    from rabbet.typing import Value

ORIGINS = {"compiler": "compiled", "disk": "loaded from the cache", "process": "shared", "peer": "received"}


class Lowering(NamedTuple):
    """A program ready to compile: its text, which arguments it reads, what it gives back, and how long the
    passes and the writing took.
    """

    jaxpr: object
    module: object
    name: str
    platform: str
    kept: tuple
    donated: tuple
    out_avals: tuple
    keeps_all: bool
    effects: frozenset
    pass_seconds: float = 0.0
    seconds: float = 0.0
    spread: Spread | None = None
    stops: bool = False  # whether it has one more argument than said, by which its loops can be stopped


def lower(
    jaxpr: Any,
    platform: Any,
    name: Any = "main",
    *,
    donated: Any = (),
    keep_unused: Any = False,
    options: Any = None,
    spread: Any = None,
    symbolic: Any = None,
) -> Any:
    """Run the passes and write the module text.

    Args:
      jaxpr: a ``Jaxpr``; captured arrays come first among its arguments.
      platform: the backend to write for.
      name: shown in profiles.
      donated: indices into the arguments whose memory may be reused.
      keep_unused: keep arguments that the program does not read.
      options: compiler options by name, for passes that ask.
      spread: the ``Spread`` of a program for several devices.
      symbolic: what knows the symbolic dimensions of a program that has some.
    """
    started = time.perf_counter()
    platform, backend = backends.writing_for(platform)
    context = passes.PassContext(platform, options or {})
    spread = program_shardings.as_typed(spread, jaxpr)  # also for what the passes take out
    optimized = passes.run(jaxpr, context)
    optimized = program_shardings.in_asked_memories(spread, optimized)
    passed = time.perf_counter()
    arguments = [*optimized.constvars, *optimized.invars]
    kept = tuple(range(len(arguments)))
    if not keep_unused:
        used = set(optimized.outvars).union(*[eqn.inputs for eqn in optimized.equations])
        kept = tuple([i for i, v in enumerate(arguments) if v in used])
    trimmed = type(optimized)(
        [arguments[i] for i in kept],
        optimized.outvars,
        optimized.equations,
        (),
        optimized.effects,
        optimized.name,
    )
    place = {old: new for new, old in enumerate(kept)}
    given = tuple([place[i] for i in donated if i in place])
    ins, outs = ((), ()) if spread is None else program_shardings.attributes_of(spread, trimmed, kept)
    try:
        target = Target(
            platform,
            backend_rules=backend and backend.lowerings,
            lacks=backend and backend.lacks,
            python_call=backend and backend.python_call,
            spread=0 if spread is None else len(spread.group),
            like=None if spread is None else spread.like,
            symbolic=symbolic,
        )
        module = lower_program(
            trimmed, target, name=name, donated=given, arg_attributes=ins, result_attributes=outs
        )
    except Exception:
        passes.blame(jaxpr, context)
        raise
    if config.dump_ir_to is not None:
        ir_dumps.dump(name, trimmed, module)
    finished = time.perf_counter()
    hook_calls.tell_hooks(
        "lower_finished", name=name, platform=platform, pass_seconds=passed - started,
        seconds=finished - passed,
    )  # fmt: skip
    return Lowering(
        jaxpr=trimmed,
        module=module,
        name=name,
        platform=platform,
        kept=kept,
        donated=given,
        out_avals=optimized.out_avals,
        keeps_all=len(kept) == len(arguments),
        effects=optimized.effects,
        pass_seconds=passed - started,
        seconds=finished - passed,
        spread=spread,
    )


class Executable:
    """A compiled program on one device.

    Attributes: ``exe`` (the runtime's), ``lowering``, ``device``, ``origin`` (``"compiler"``, or where it was
    already: ``"disk"`` or ``"process"``) and ``seconds``, how long that took.
    """

    __slots__ = ("loaded", "exe", "lowering", "device", "origin", "seconds", "_out_shardings")

    def __init__(
        self, loaded: Loaded, lowering: Lowering, device: DeviceGroup | Device, origin: str, seconds: float
    ) -> None:
        self.loaded = loaded  # as long as this lives, equal programs share it
        self.exe = loaded.exe
        self.lowering = lowering
        self.device = device
        self.origin = origin
        self.seconds = seconds
        self._out_shardings: tuple[Any, ...] | None = None

    @property
    def in_shardings(self) -> Any:
        """The ``Sharding`` of each argument, captured arrays first, also of those that are not read."""
        spread = self.lowering.spread
        if spread is None:
            count = max(self.lowering.kept, default=-1) + 1
            return (SingleDeviceSharding(self.device),) * count
        return spread.ins

    @property
    def out_shardings(self) -> Any:
        """The ``Sharding`` of each result: as asked for, or what the compiler chose."""
        if self._out_shardings is None:
            self._out_shardings = tuple(self._find_out_shardings())
        return self._out_shardings

    def _find_out_shardings(self) -> Any:
        spread, avals = self.lowering.spread, self.lowering.out_avals
        if spread is None:
            return [SingleDeviceSharding(self.device, memory_kind=memory_of(a)) for a in avals]
        jaxpr: Any = self.lowering.jaxpr
        variables = [*jaxpr.constvars, *jaxpr.invars]  # one more where its loops can be stopped
        read = [(spread.ins[k], v.aval.ndim) for k, v in zip(self.lowering.kept, variables, strict=False)]
        return program_shardings.chosen(spread, avals, raw_shards.output_shardings(self.exe), read)

    @property
    def out_placements_known(self) -> bool:
        """Whether all shardings that the compiler chose can be said."""
        return None not in self.out_shardings

    def placements(self, committed: bool) -> list[Placement]:
        """The placements of its results."""
        avals = self.lowering.out_avals
        if self.lowering.spread is None:
            usual = lambda a: placement(a, self.device, committed)
            if not any(memory_of(a) for a in avals):
                return list(map(usual, avals))
            return [
                placed_by(a, s) if memory_of(a) else usual(a)
                for a, s in zip(avals, self.out_shardings, strict=True)
            ]
        return [placed_by(a, s) for a, s in zip(avals, self.out_shardings, strict=True)]

    @property
    def cached(self) -> Any:
        """Whether it came from the persistent cache."""
        return self.origin == "disk"

    def runner(
        self, committed: bool, *, single: bool = False, assemble: Callable[..., Any] | type | None = None
    ) -> Any:
        """A function from a sequence of ``Array`` arguments to a list of results (or the only one).

        Args:
          committed: whether results count as put on the device on purpose.
          single: return the only result itself.
          assemble: makes what is returned of the list of results.
        """
        if config.no_execution:
            return self.refuse
        specs = self.placements(committed)
        checked = config.debug_nans or config.debug_infs
        checked = checked and not nan_checks.only_moves(self.lowering.jaxpr)
        if checked or effects.is_special(self.lowering):
            run = self.slow_runner(specs, single, checked)
            return run if assemble is None else lambda args: assemble(run(args))
        return dispatch.runner(
            self.execution(), specs, self.lowering, self.device, self.diagnose, single=single,
            assemble=assemble,
        )  # fmt: skip

    def refuse(self, args: Any) -> Any:
        """What runs instead of a program while nothing may run."""
        raise RuntimeError(
            f"{self.lowering.name!r} is not executed: config.no_execution forbids it, on purpose"
        )

    def slow_runner(self, specs: list[Placement], single: bool, checked: bool) -> Callable[..., Any]:
        """The function for a program with effects, or whose results are ``checked``."""
        if effects.is_special(self.lowering):
            run = effects.runner(self, specs, single)
        else:
            run = dispatch.runner(
                self.execution(), specs, self.lowering, self.device, self.diagnose, single=single
            )
        return self.checking(run) if checked else run

    def execution(self) -> Any:
        """The program as jaxlib runs it, overseen where it runs on several devices."""
        execute = interruptible.execute(self.exe, self.lowering)
        if self.lowering.spread is None:
            return execute
        return in_flight.bounded(multi_process.overseen(execute, self), self)

    def checking(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """``run`` with its results checked for NaNs and infinities, as ``config.debug_nans`` and
        ``debug_infs`` ask.
        """

        def run_checked(args: list[Value]) -> Value:
            out = run(args)
            try:
                nan_checks.check(self.lowering.name, [out] if type(out) is Array else out)
            except FloatingPointError:
                if second_looks.is_unchecked():
                    return out
                inputs = [args[i] for i in self.lowering.kept]
                nan_checks.first_operation(self.lowering.name, self.lowering.jaxpr, inputs)
                raise
            return out

        return run_checked

    def hlo_text(self) -> str:
        """The optimized program, as the compiler left it."""
        return adapter.hlo_text(self.exe)

    def cost_analysis(self) -> dict[Any, Any]:
        """The compiler's estimates by name: ``flops``, ``bytes accessed``, ..."""
        return adapter.cost_analysis(self.exe)

    def memory_analysis(self) -> dict[Any, Any]:
        """Bytes by use: arguments, outputs, temporaries, aliased."""
        return adapter.memory_analysis(self.exe)

    def diagnose(self, error: Exception, args: list[Value] | tuple[Value, ...]) -> Exception:
        """The error to raise when execution failed: a deleted argument is named, and what lives where memory
        ran out; any other is the runtime's own.
        """
        if isinstance(error, PeerLost):
            return error
        if isinstance(error, (UnicodeDecodeError, SystemError)):
            from rabbet.runtime.execution import foreign_errors  # of functions in other languages alone

            error = foreign_errors.translated(error, self.lowering.name)
        for i in self.lowering.kept:
            if args[i].raw.is_deleted():
                deleted = args[i].deleted()
                deleted.add_note(f"it is argument {i} of {self.lowering.name!r}")
                return deleted
        if memory_exhausted.is_exhausted(error):
            what = f"running {self.lowering.name!r}"
            devices = self.device.devices if type(self.device) is DeviceGroup else [self.device]
            return memory_exhausted.explained(error, what, devices, self.lowering.jaxpr)
        return error


def compile(lowering: Any, device: Any, options: dict[Any, Any] | None = None) -> Any:
    """Compile a lowered program for a device, or find it: in this process, or in the persistent cache.

    Args:
      lowering: from ``lower``.
      device: a ``Device``.
      options: compiler options by name, over those chosen for the platform.

    Raises:
      ConfigError: for an option that the compiler does not know, or a value that it refuses.
      CompileError: what the compiler says against the program, and where the module's text was saved.
    """
    started = time.perf_counter()
    name, client = lowering.name, device.raw.client
    if lowering.module.stoppable is not None and interruptible.concerns(lowering):
        lowering = lowering._replace(module=lowering.module.stoppable, stops=True)
    # Also for a program from the cache: a call of a function that is not there would end the process.
    device.client.backend.provide(custom_calls.targets(lowering.module.key_text))
    build = options_for(lowering, device, options)
    portable = build if lowering.spread is None else options_for(lowering, device, options, anywhere=True)
    text = lowering.module.key_text
    agreed: Any = contextlib.nullcontext()
    if lowering.spread is not None and not device.is_local:
        options_text, about = adapter.option_bytes(portable), multi_process_compilation.told_apart(lowering)
        located = lowering.module.text
        agreed = multi_process.Agreed(lowering.name, text, options_text, device, about, located)
        text = agreed.text
    key = disk_cache.key(text, adapter.option_bytes(portable), device)
    with agreed as among:
        # Python functions belong to their program, whatever its text.
        if lowering.module.callbacks or lowering.module.partitioners:
            loaded, known = _load(client, lowering, device, build, key), False
        else:
            load = functools.partial(_load, client, lowering, device, build, key, among)
            loaded, known = shared.get((device, key), load)
            if among is not None:
                among.hand_on(key, multi_process_compilation.bytes_of(loaded, key, among.blob))
    seconds = time.perf_counter() - started
    if known:
        hook_calls.tell_hooks("program_shared", name=name)
    origin = "process" if known else loaded.origin
    if hook_calls.hooks_are_listening():
        from rabbet.runtime.compilation.compiled_facts import facts_of

        program = facts_of(lowering, loaded.exe, device, seconds, origin)
        hook_calls.tell_hooks("program_ready", program=program)
    if config.log_compiles:
        logger().warning("%s %r for %s in %.3f s", ORIGINS[origin], name, device, seconds)
    made = Executable(loaded, lowering, device, origin, seconds)
    if lowering.spread is not None and not made.out_placements_known:
        return compile(whole_where_unsaid(made), device, options)
    return made


def whole_where_unsaid(made: Any) -> Any:
    """The lowering of a program once more. Results whose shardings, as the compiler chose them, cannot be
    expressed on a mesh are whole on each device.
    """
    lowering = made.lowering
    everywhere = EverywhereSharding(lowering.spread.group)
    outs = tuple([everywhere if s is None else s for s in made.out_shardings])
    spread = lowering.spread._replace(outs=outs, ins=tuple([lowering.spread.ins[i] for i in lowering.kept]))
    count = max(lowering.kept, default=-1) + 1
    again = lower(
        lowering.jaxpr, lowering.platform, lowering.name, donated=lowering.donated, keep_unused=True,
        spread=spread,
    )  # fmt: skip
    ins = [everywhere] * count
    for i, sharding in zip(lowering.kept, spread.ins, strict=True):
        ins[i] = sharding
    return again._replace(
        kept=lowering.kept, keeps_all=lowering.keeps_all, donated=lowering.donated,
        spread=spread._replace(ins=tuple(ins)),
    )  # fmt: skip


def options_for(lowering: Any, device: Any, options: Any, *, anywhere: bool = False) -> Any:
    """jaxlib's options for a program on a device or a group. ``anywhere``: as if the group's devices were the
    first ones, since what is compiled for one group serves others.
    """
    text = lowering.module.key_text
    if lowering.spread is None:
        return compile_options.build_options(device, extra=options, text=text)
    here = next(iter(device.local_devices), device.devices[0])
    return compile_options.build_options(
        here, extra=options, text=text, num_partitions=len(device), devices=device.devices,
        anywhere=anywhere, told=multi_process.options(device),
    )  # fmt: skip


def _load(client: Any, lowering: Any, device: Any, build: Any, key: str, among: Any = None) -> Loaded:
    """A program from the persistent cache, from another process (of ``among``, which have agreed on it), or
    else from the compiler, as ``Loaded``; hooks are told.
    """
    started = time.perf_counter()
    name, text = lowering.name, lowering.module.text
    hook_calls.tell_hooks("compile_started", name=name, platform=lowering.platform, module_size=len(text))
    exe, size = None, 0
    cached = fetched = False

    def serialized() -> bytes:
        nonlocal size
        blob = adapter.serialize(exe)
        size = len(blob)
        return blob

    try:
        devices = device.device_list
        calls = [callbacks.for_device(c, device) for c in lowering.module.callbacks]
        storable = not lowering.module.partitioners  # the text does not tell what these make of the program
        if storable:
            exe, size = _revive(
                device.client, key, devices, calls, None if lowering.spread is None else build
            )
        cached = exe is not None
        hook_calls.tell_hooks("cache_hit" if cached else "cache_miss", name=name)
        if exe is None:
            if among is not None:
                exe = multi_process_compilation.fetched(client, among, key, devices, build)
            fetched = exe is not None
            if exe is None:
                exe = _compiled(client, lowering, devices, build, calls)
            if storable:
                disk_cache.store(key, serialized, time.perf_counter() - started)
    finally:
        hook_calls.tell_hooks(
            "compile_finished", name=name, seconds=time.perf_counter() - started, cached=cached
        )
    program_limit.of_process.one_more()
    if lowering.spread is None and not calls and not custom_calls.targets(lowering.module.key_text):
        read_ahead.note(device, key)
    only_here = lowering.module.callbacks or lowering.module.partitioners
    nbytes = estimate(size, len(lowering.module.key_text))
    origin = "disk" if cached else "peer" if fetched else "compiler"
    loaded = Loaded(exe, origin, None if only_here else (device, key), nbytes)
    kept_programs.one_more(loaded)
    return loaded


def compiled_anew(lowering: Any, device: Any, options: Any = None) -> Any:
    """What the compiler makes of a program without callbacks, whatever is kept of it."""
    build = options_for(lowering, device, options)
    return _compiled(device.raw.client, lowering, device.device_list, build, [])


def _compiled(
    client: Any, lowering: Lowering, devices: Any, build: Any, calls: list[Callable[..., Any]]
) -> Any:
    try:
        with custom_partitioning.answering(lowering) as text:
            return interruptible.to_the_end(adapter.compile_text, client, text, devices, build, calls)
    except (RuntimeError, SystemError) as error:  # sizes beyond 64 bits are a bare RuntimeError
        if type(error) is RuntimeError and "StatusOr" not in str(error):
            raise
        from rabbet.runtime.compilation.compile_failure import compile_failure

        raise compile_failure(lowering, error) from None


def _revive(
    client: Any, key: str, devices: Any, calls: list[Callable[..., Any]], options: Any
) -> tuple[Any, ...]:
    """The executable kept under ``key``, or None; and how many bytes it has there, 0 if nobody counted."""
    ahead = read_ahead.take(key, client)
    if ahead is not None:
        return ahead, 0
    blob = disk_cache.get(key)
    if blob is None:
        return None, 0
    try:
        return adapter.deserialize(client.raw, blob, devices, options, host_callbacks=calls), len(blob)
    except Exception as error:  # whatever jaxlib says of a blob that it cannot read, it is a miss
        if is_of_handler(error):
            raise
        disk_cache.reject(key, str(error))
        return None, 0
