"""Programs for plugins to compile: what ``rabbet.extend`` offers of the runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.errors import PluginError
from rabbet.lowering import custom_calls
from rabbet.lowering.module import ModuleText
from rabbet.program.context import context
from rabbet.program.jaxpr import Jaxpr
from rabbet.runtime.arrays import values
from rabbet.runtime.caching.machine_fingerprint import host_fingerprint
from rabbet.runtime.caching.shared_programs import Loaded
from rabbet.runtime.compilation import program
from rabbet.runtime.evaluation import EVALUATION
from rabbet.runtime.execution import dispatch, frames
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms import devices
from rabbet.runtime.platforms.devices import default_device

if TYPE_CHECKING:
    from rabbet.runtime.compilation.program import Executable, Lowering
    from rabbet.runtime.platforms.device_groups import DeviceGroup
    from rabbet.runtime.platforms.devices import Device


def is_evaluating(beneath: bool = False, alone: bool = False) -> Any:
    """Whether operations on this thread are executed at once: no transformation is running.

    Args:
      beneath: ask for what lies beneath the transformations that are running, not for them: then it is false
        only where a program is being recorded.
      alone: ask also whether no setting observes what is executed (``Setting(observer=...)``).

    Example:
      >>> from rabbet.extend.functions import is_evaluating
      >>> from rabbet.extend.passes import stage
      >>> is_evaluating()
      True
      >>> closed = stage(lambda x: [print(is_evaluating()) or x], [rb.typeof(1.0)])
      False
    """
    interpreter = context.interpreter
    # What a setting observes is executed, too.
    while beneath and interpreter.parent is not None:
        interpreter = interpreter.parent
    return getattr(interpreter, "executes", False) and not (alone and hasattr(interpreter, "around"))


def lower_program(
    jaxpr: Any,
    platform: Any = None,
    name: Any = "main",
    *,
    donated: Any = (),
    keep_unused: Any = False,
    options: Any = None,
    spread: Any = None,
    symbolic: Any = None,
) -> Any:
    """Run the passes on a program and write its StableHLO text; see ``compile_program``.

    Args:
      spread: the ``Spread`` of a program over several devices, else None.
      symbolic: for a program with ``SymbolicDimension``: an object with ``rules``, a ``RuleSet`` of lowerings
        that are asked for first, ``lacks(op)``, which says why an operation cannot be written, or None, and
        ``size(op, dimension)``, which writes a dimension as an i32 without dimensions and returns its name.
        Such a program is written, and not compiled.

    Example:
      >>> from rabbet.extend.backend import lower_program
      >>> from rabbet.extend.passes import stage
      >>> program = stage(lambda x: [lax.sin(x)], [rb.typeof(np.float32(1))]).jaxpr
      >>> lowering = lower_program(program, platform="cpu")
      >>> lowering.platform, "stablehlo.sine" in lowering.module.text
      ('cpu', True)
    """
    return program.lower(
        jaxpr,
        platform or default_device().platform,
        name,
        donated=donated,
        keep_unused=keep_unused,
        options=options,
        spread=spread,
        symbolic=symbolic,
    )


def compile_program(
    lowering: Lowering, device: DeviceGroup | Device | None = None, options: dict[Any, Any] | None = None
) -> Executable:
    """Compile what ``lower_program`` returned, for a device (by default the default one).

    Returns:
      an ``Executable``; its ``runner(committed)`` runs it on arrays of exactly the lowered types on that
      device.

    Example:
      >>> from rabbet.extend.backend import compile_program, lower_program
      >>> from rabbet.extend.passes import stage
      >>> program = stage(lambda x: [lax.mul(x, x)], [rb.typeof(np.float32(1))]).jaxpr
      >>> run = compile_program(lower_program(program)).runner(False)
      >>> run([rb.device_put(np.float32(3))])
      [Array(9., dtype=float32)]
    """
    return program.compile(lowering, device or default_device(), options)


def call_by_placements(
    function: Any,
    programs: Any,
    *,
    traced: Any,
    slowly: Any,
    of_others: Any,
    of_trees: Any = (),
    offered: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """A function that finds its compiled program by its arguments in one lookup, for what compiles on demand.

    Args:
      function: what it stands for.
      programs: a dict that the caller fills, of ``program_entry(run)`` by the placements of the arguments and
        ``config.traced_key()`` behind them: ``(*[x.spec for x in arrays], config.traced_key())``.
      traced: ``(*args, **kwargs)``, called under a transformation.
      slowly: ``(args, kwargs)``, where the program is not known yet, and where there are keywords.
      of_others: ``(args)``, where an argument is not an array: a pytree, a number.
      of_trees: a collection; while there is something in it, ``of_others`` is called at once.
      offered: the rest of ``FrameParts`` by name, but for ``context``, where an installed package may offer
        the function.

    Example:
      >>> from rabbet.extend.backend import call_by_placements, compile_program, lower_program, program_entry
      >>> from rabbet.extend.passes import stage
      >>> def negated(x):
      ...     return lax.neg(x)
      >>> programs = {}
      >>> def compile_now(args, kwargs):
      ...     program = stage(lambda x: [negated(x)], [rb.typeof(args[0])]).jaxpr
      ...     run = compile_program(lower_program(program)).runner(False, single=True)
      ...     programs[args[0].spec, rb.config.traced_key()] = program_entry(run)
      ...     return run(args)
      >>> fast = call_by_placements(
      ...     negated, programs, traced=negated, slowly=compile_now, of_others=lambda args: negated(*args)
      ... )
      >>> x = rb.device_put(np.float32(3))
      >>> fast(x), fast(x), len(programs)
      (Array(-3., dtype=float32), Array(-3., dtype=float32), 1)
    """
    if offered is not None:
        if offered.get("later") is not None:
            offered = {**offered, "lend": values.lend}
        parts = frames.FrameParts(
            function, programs, config.values, EVALUATION, traced, slowly, of_others, of_trees, **offered
        )
        frame = frames.offered_frame(parts)
        if frame is not None:
            return frame
    return dispatch.function(
        function,
        programs,
        config.values,
        EVALUATION,
        traced=traced,
        slowly=slowly,
        of_others=of_others,
        of_trees=of_trees,
    )


def program_entry(run: Callable[..., Any]) -> tuple[Any, ...]:
    """What ``call_by_placements`` finds, for ``run``, the runner of an ``Executable``.

    Example:
      >>> from rabbet.extend.backend import compile_program, lower_program, program_entry
      >>> from rabbet.extend.passes import stage
      >>> program = stage(lambda x: [lax.neg(x)], [rb.typeof(np.float32(1))]).jaxpr
      >>> entry = program_entry(compile_program(lower_program(program)).runner(False))
      >>> entry[-1]([rb.device_put(np.float32(3))])
      [Array(-3., dtype=float32)]
    """
    return dispatch.known(run)


def pack_executable(executable: Any, options: Any = None) -> Any:
    """What another process needs to run a compiled program: a dict that pickles; see ``unpack_executable``.

    One that came from disk is compiled again: written out a second time it would lack functions. Where a
    program runs on several devices, the dict has their ``Device``s, within shardings.

    Args:
      options: those that it was compiled with.

    Raises:
      ValueError: for a program that calls Python functions or has effects, whose devices belong to several
        processes, or that XLA cannot write out.

    Example:
      >>> from rabbet.extend.backend import compile_program, lower_program
      >>> from rabbet.extend.native import pack_executable, unpack_executable
      >>> from rabbet.extend.passes import stage
      >>> program = stage(lambda x: [lax.mul(x, x)], [rb.typeof(np.float32(3))]).jaxpr
      >>> packed = pack_executable(compile_program(lower_program(program)))
      >>> unpack_executable(packed).runner(False)([rb.device_put(np.float32(3))])
      [Array(9., dtype=float32)]
    """
    lowering = executable.lowering
    spread = lowering.spread
    if spread is not None:
        if not executable.device.is_local:
            raise ValueError(
                f"{lowering.name!r} runs on devices of several processes, and bytes hold what one of them "
                "runs; the persistent cache serves each"
            )
        spread = spread._replace(outs=executable.out_shardings)
    if lowering.module.partitioners:
        raise ValueError(
            f"{lowering.name!r} asks Python how it is cut up (custom_partitioning), which bytes cannot hold; "
            "compile it where it is to run"
        )
    if lowering.module.callbacks or lowering.effects:
        raise ValueError(
            f"{lowering.name!r} calls Python functions or has effects, which bytes cannot hold; compile it "
            "where it is to run"
        )
    exe = executable.exe
    if executable.loaded.origin != "compiler":
        exe = program.compiled_anew(lowering, executable.device, options)
    try:
        blob = adapter.serialize(exe)
    except adapter.XlaRuntimeError as error:
        raise ValueError(
            f"XLA cannot write {lowering.name!r} out as bytes ({error}); with other compiler options it may"
        ) from None
    return {
        "versions": (adapter.version(), machine(executable.device)),
        "blob": blob,
        "module": tuple(lowering.module),
        "lowering": {**{f: getattr(lowering, f) for f in KEPT}, "spread": spread},
        "options": options,
    }


def text_cost(text: str) -> Any:
    """Estimates of a StableHLO module before it is optimized (a dict with ``flops`` and others), or None
    where there is no CPU backend to count with.

    Example:
      >>> from rabbet.extend.native import text_cost
      >>> text_cost(rb.jit(lambda x: x @ x).lower(np.ones((4, 4), np.float32)).as_text())["flops"]
      128.0
    """
    try:
        client = devices.client_of("cpu")
    except PluginError:
        return None
    return adapter.text_cost(client.raw, text)


def machine(device: Any) -> tuple[str, ...]:
    """The kind of the device, and on a CPU what its code assumes of the processor."""
    return f"{device.platform} {device.device_kind}", host_fingerprint() if device.platform == "cpu" else ""


KEPT = ("name", "platform", "kept", "donated", "out_avals", "keeps_all", "stops")


def unpack_executable(packed: dict[Any, Any], device: Device | None = None) -> Executable:
    """The ``Executable`` that ``pack_executable`` took apart, on ``device``; one that runs on several devices
    on those of its shardings.

    Raises:
      ValueError: if it was made by another version, for another platform, or is damaged.

    Example:
      >>> from rabbet.extend.native import unpack_executable
      >>> unpack_executable({"versions": (), "lowering": {"platform": "cpu"}})
      Traceback (most recent call last):
      ...
      ValueError: the program was packed by another version; compile it again
    """
    spread = packed["lowering"].get("spread")
    if spread is not None:
        device = spread.group
    device = device or devices.devices(packed["lowering"]["platform"])[0]
    here = adapter.version(), machine(device)
    if len(packed["versions"]) != len(here):
        raise ValueError("the program was packed by another version; compile it again")
    if packed["versions"] != here:
        raise ValueError(
            f"the program was compiled by jaxlib {packed['versions'][0]} for {packed['versions'][1][0]}, and "
            f"this is jaxlib {here[0]} on {here[1][0]}, or another processor; compile it again"
        )
    module = ModuleText(*packed["module"])
    unknown = Jaxpr([], [], [])
    lowering = program.Lowering(jaxpr=unknown, module=module, effects=frozenset(), **packed["lowering"])
    device.client.backend.provide(custom_calls.targets(module.key_text))
    try:
        # What is compiled for one group of devices serves others, which the options name.
        options = None if spread is None else program.options_for(lowering, device, packed["options"])
        exe = adapter.deserialize(device.raw.client, packed["blob"], device.device_list, options)
    except adapter.XlaRuntimeError as error:
        raise ValueError(f"the program cannot be loaded: {error}") from None
    return program.Executable(Loaded(exe, "disk"), lowering, device, "disk", 0.0)
