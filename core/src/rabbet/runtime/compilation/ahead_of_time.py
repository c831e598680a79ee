"""Programs for hardware that is not here: compiled, looked at and serialized, never run.

A backend describes such hardware by name (``Backend.topology``). What it has to say against a program is
found out without it: an operation that its compiler does not know, or more memory than a device has.
"""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rabbet.errors import ConfigError, PluginError
from rabbet.lowering import custom_calls
from rabbet.runtime.arrays import memory_report
from rabbet.runtime.compilation import custom_partitioning
from rabbet.runtime.compilation.compile_failure import compile_failure
from rabbet.runtime.jaxlib import adapter, hlo
from rabbet.runtime.platforms import backends, compile_options, devices, hook_calls, topologies

if TYPE_CHECKING:
    from rabbet.runtime.compilation.program import Lowering
    from rabbet.runtime.platforms.backends import Backend


class AheadExecutable:
    """A program compiled for hardware that need not be here: one device of it, or those it is spread over.

    Attributes: ``exe`` (jaxlib's), ``lowering``, ``topology`` (its name), ``device_kind`` and ``seconds``.
    """

    __slots__ = ("exe", "lowering", "topology", "device_kind", "seconds")

    def __init__(self, exe: Any, lowering: Lowering, topology: Any, device_kind: str, seconds: float) -> None:
        self.exe, self.lowering, self.seconds = exe, lowering, seconds
        self.topology, self.device_kind = topology, device_kind

    def hlo_text(self) -> str:
        """The optimized program, as the compiler left it."""
        return adapter.hlo_text(self.exe)

    def cost_analysis(self) -> Any:
        """Estimates by name (``flops``, ``bytes accessed``, ...): the compiler's, or where it has none, those
        of the program as it was given to the compiler; None if neither is to be had.
        """
        own = adapter.cost_analysis(self.exe)
        if own is not None or "cpu" not in backends.default_registry().installed():
            return own
        module: Any = self.lowering.module
        return adapter.text_cost(devices.client_of("cpu").raw, module.key_text)

    def memory_analysis(self) -> dict[Any, Any]:
        """Bytes by use: arguments, outputs, temporaries, code."""
        return adapter.memory_analysis(self.exe)

    def module_proto(self) -> bytes:
        """The optimized program as an ``HloModuleProto``, for tools that read more than its text."""
        return hlo.module_proto(self.exe)

    def buffer_assignment(self) -> bytes:
        """Where the compiler put what, as a ``BufferAssignmentProto``; empty where it does not tell."""
        return hlo.buffer_assignment(self.exe)

    def serialize(self) -> Any:
        """The executable as bytes, in the format of the compiler that made it."""
        return adapter.serialize(self.exe)


def compile_ahead(lowering: Any, topology: Any = None, options: Any = None) -> AheadExecutable:
    """Compile a lowered program for hardware that need not be here.

    Args:
      lowering: from ``lower``, for the platform of the topology.
      topology: its name, such as ``"v5e:2x2"`` (tpu) or ``"h100"`` (cuda), or one of ``topology_devices``,
        for a program on one device. One that is spread over such devices is compiled for these.
      options: compiler options by name.

    Returns:
      an ``AheadExecutable``.

    Raises:
      MissingPluginError: the platform is not installed.
      PluginError: its compiler cannot be loaded, or it does not compile for other machines.
      ConfigError: no such topology or option.
      CompileError: what the compiler says against the program, and its largest arrays if memory is short.

    Example:
      >>> from rabbet.extend.backend import compile_ahead, lower_program
      >>> def for_one_tpu_core(program):
      ...     return compile_ahead(lower_program(program, platform="tpu"), "v5e:2x2")
    """
    started = time.perf_counter()
    platform, name = lowering.platform, lowering.name
    backend = backends.default_registry().get(platform)
    if lowering.module.callbacks:
        raise ConfigError(
            f"{name!r} calls Python functions, which exist in this process only: it cannot be compiled ahead "
            "of time; leave the callbacks out"
        )
    text = lowering.module.key_text
    if lowering.spread is not None:
        group = lowering.spread.group
        topology = group.client.topology if topologies.is_described(group) else str(group)
        raws = [device.raw for device in group.devices]
        backend.provide(custom_calls.targets(text))
        build = compile_options.build_options(
            group.devices[0], text=text, num_partitions=len(group), devices=group.devices
        )
    else:
        if isinstance(topology, topologies.DescribedDevice):
            client: Any = topology.client
            raws, topology = [topology.raw], client.topology
        else:
            raws = [only_device(backend, topology)]
        backend.provide(custom_calls.targets(text))
        device = SimpleNamespace(id=raws[0].id, client=SimpleNamespace(backend=backend))
        build = compile_options.build_options(device, text=text)
    raw = raws[0]
    overrides = compile_options.merge(dict(build.env_option_overrides), named(options))
    build.env_option_overrides = sorted(overrides.items())
    hook_calls.tell_hooks("compile_started", name=name, platform=platform, module_size=len(text))
    try:
        with custom_partitioning.answering(lowering) as asking:
            exe = adapter.compile_unloaded(raw.client, asking, adapter.device_list(raws), build)
    except adapter.XlaRuntimeError as error:
        message = str(error)
        if "No such compile option" in message:
            raise ConfigError(message) from None
        raise compile_failure(lowering, adapter.without_version_guess(message)) from None
    finally:
        seconds = time.perf_counter() - started
        hook_calls.tell_hooks("compile_finished", name=name, seconds=seconds, cached=False)
    out = AheadExecutable(exe, lowering, topology, raw.device_kind, seconds)
    check_memory(out, backend)
    return out


def only_device(backend: Backend, topology: Any) -> Any:
    """jaxlib's first device of a topology."""
    if backend.topology is None:
        raise PluginError(
            f"the backend for {backend.platform!r} does not compile for hardware that is not here; leave "
            "topology= out to compile for this machine"
        )
    return adapter.compile_only_devices(backend.topology(topology))[0]


def named(options: Any) -> Any:
    """Compiler options with their values as XLA wants them."""
    return {name: compile_options.plain(name, value) for name, value in (options or {}).items()}


def check_memory(executable: AheadExecutable, backend: Backend) -> None:
    """Refuse a program that needs more memory than a device has, where the compiler says nothing to it."""
    limit = backend.topology_memory(executable.topology) if backend.topology_memory is not None else None
    sizes = executable.memory_analysis()
    if limit is None or sizes is None:
        return
    uses = {use: sizes[f"{use}_size_in_bytes"] for use in ("argument", "output", "temp", "generated_code")}
    needed = sum(uses.values()) - sizes["alias_size_in_bytes"]
    if needed > limit:
        shown = ", ".join([f"{use} {memory_report.in_units(n)}" for use, n in uses.items()])
        raise compile_failure(
            executable.lowering,
            f"RESOURCE_EXHAUSTED: it needs {memory_report.in_units(needed)} ({shown}), and "
            f"{executable.device_kind} has {memory_report.in_units(limit)}",
        )


__all__ = ["AheadExecutable", "compile_ahead"]
