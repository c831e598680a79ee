"""From a program to something that runs: passes, text, cache, compiler, and the fast call at the end.

An ``Executable`` belongs to one program on one device. Its ``runner`` is a closure that takes ``Array``
arguments of the exact placements it was made for and does nothing but execute and wrap: whoever calls it
has looked it up by those placements.
"""

import logging
import time
from typing import NamedTuple

from rabbet import passes
from rabbet.config import config
from rabbet.lowering import custom_calls
from rabbet.lowering.module import lower_program
from rabbet.runtime import (
    adapter,
    backends,
    cache,
    callbacks,
    compile_options,
    dispatch,
    dumps,
    effects,
    exhausted,
    hook_calls,
    interruptible,
    not_finite,
)
from rabbet.runtime.array import Array
from rabbet.runtime.compile_failure import compile_failure
from rabbet.runtime.placement import placement
from rabbet.runtime.shared_programs import Loaded, Shared

LOG = logging.getLogger("rabbet")
ORIGINS = {"compiler": "compiled", "disk": "loaded from the cache", "process": "shared"}

# What was compiled, by device and by all that its code depends on.
shared = Shared()


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


def lower(jaxpr, platform, name="main", *, donated=(), keep_unused=False, options=None):
    """Run the passes and write the module text.

    Args:
      jaxpr: a ``Jaxpr``; captured arrays come first among its arguments.
      platform: the backend to write for.
      name: shown in profiles.
      donated: indices into the arguments whose memory may be reused.
      keep_unused: keep arguments that the program does not read.
      options: compiler options by name, for passes that ask.
    """
    started = time.perf_counter()
    platform, backend = backends.writing_for(platform)
    context = passes.PassContext(platform, options or {})
    optimized = passes.run(jaxpr, context)
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
    try:
        module = lower_program(
            trimmed,
            platform,
            name=name,
            donated=given,
            bridges=backend and backend.lowerings,
            lacks=backend and backend.lacks,
        )
    except Exception:
        passes.blame(jaxpr, context)
        raise
    if config.dump_ir_to is not None:
        dumps.dump(name, trimmed, module)
    finished = time.perf_counter()
    hook_calls.tell_hooks(
        "lower_finished", name=name, platform=platform, pass_seconds=passed - started,
        seconds=finished - passed,
    )  # fmt: skip
    return Lowering(
        trimmed,
        module,
        name,
        platform,
        kept,
        given,
        optimized.out_avals,
        len(kept) == len(arguments),
        optimized.effects,
        passed - started,
        finished - passed,
    )


class Executable:
    """A compiled program on one device.

    Attributes: ``exe`` (the runtime's), ``lowering``, ``device``, ``origin`` (``"compiler"``, or where it was
    already: ``"disk"`` or ``"process"``) and ``seconds``, how long that took.
    """

    __slots__ = ("loaded", "exe", "lowering", "device", "origin", "seconds")

    def __init__(self, loaded, lowering, device, origin, seconds):
        self.loaded = loaded  # as long as this lives, equal programs share it
        self.exe = loaded.exe
        self.lowering = lowering
        self.device = device
        self.origin = origin
        self.seconds = seconds

    @property
    def cached(self):
        """Whether it came from the persistent cache."""
        return self.origin == "disk"

    def runner(self, committed, *, single=False):
        """A function from a sequence of ``Array`` arguments to a list of results (or the only one).

        Args:
          committed: whether results count as put on the device on purpose.
          single: return the only result itself.
        """
        specs = [placement(a, self.device, committed) for a in self.lowering.out_avals]
        if effects.is_special(self.lowering):
            special = effects.runner(self, specs, single)
            return self.checking(special) if config.debug_nans or config.debug_infs else special
        execute = interruptible.execute(self.exe, self.lowering)
        run = dispatch.runner(execute, specs, self.lowering, self.device, self.diagnose, single=single)
        return self.checking(run) if config.debug_nans or config.debug_infs else run

    def checking(self, run):
        """``run`` with its results checked for NaNs and infinities, as ``config.debug_nans`` and
        ``debug_infs`` ask.
        """

        def run_checked(args):
            out = run(args)
            try:
                not_finite.check(self.lowering.name, [out] if type(out) is Array else out)
            except FloatingPointError:
                inputs = [args[i] for i in self.lowering.kept]
                not_finite.first_operation(self.lowering.name, self.lowering.jaxpr, inputs)
                raise
            return out

        return run_checked

    def hlo_text(self):
        """The optimized program, as the compiler left it."""
        return adapter.hlo_text(self.exe)

    def cost_analysis(self):
        """The compiler's estimates by name: ``flops``, ``bytes accessed``, ..."""
        return adapter.cost_analysis(self.exe)

    def memory_analysis(self):
        """Bytes by use: arguments, outputs, temporaries, aliased."""
        return adapter.memory_analysis(self.exe)

    def diagnose(self, error, args):
        """The error to raise when execution failed: a deleted argument is named, and what lives where memory
        ran out; any other is the runtime's own.
        """
        for i in self.lowering.kept:
            if args[i].raw.is_deleted():
                deleted = args[i].deleted()
                deleted.add_note(f"it is argument {i} of {self.lowering.name!r}")
                return deleted
        if exhausted.is_exhausted(error):
            what = f"running {self.lowering.name!r}"
            return exhausted.explained(error, what, [self.device], self.lowering.jaxpr)
        return error


def compile(lowering, device, options=None):
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
    # Also for a program from the cache: a call of a function that is not there would end the process.
    device.client.backend.provide(custom_calls.targets(lowering.module.key_text))
    build = compile_options.build_options(device, extra=options, text=lowering.module.key_text)
    key = cache.key(lowering.module.key_text, adapter.option_bytes(build), device)
    if lowering.module.callbacks:  # Python functions belong to their program, whatever its text
        loaded, known = _load(client, lowering, device, build, key), False
    else:
        loaded, known = shared.get((device, key), lambda: _load(client, lowering, device, build, key))
    seconds = time.perf_counter() - started
    if known:
        hook_calls.tell_hooks("program_shared", name=name)
    origin = "process" if known else loaded.origin
    if config.log_compiles:
        LOG.warning("%s %r for %s in %.3f s", ORIGINS[origin], name, device, seconds)
    return Executable(loaded, lowering, device, origin, seconds)


def _load(client, lowering, device, build, key):
    """A program from the persistent cache, or else from the compiler, as ``Loaded``; hooks are told."""
    started = time.perf_counter()
    name, text = lowering.name, lowering.module.text
    hook_calls.tell_hooks("compile_started", name=name, platform=lowering.platform, module_size=len(text))
    exe = None
    cached = False
    try:
        devices = device.device_list
        calls = [callbacks.for_device(c, device) for c in lowering.module.callbacks]
        exe = _revive(client, key, devices, calls)
        cached = exe is not None
        hook_calls.tell_hooks("cache_hit" if cached else "cache_miss", name=name)
        if exe is None:
            exe = _compiled(client, lowering, devices, build, calls)
            cache.store(key, lambda: adapter.serialize(exe), time.perf_counter() - started)
    finally:
        hook_calls.tell_hooks(
            "compile_finished", name=name, seconds=time.perf_counter() - started, cached=cached
        )
    return Loaded(exe, "disk" if cached else "compiler")


def compiled_anew(lowering, device, options=None):
    """What the compiler makes of a program without callbacks, whatever is kept of it."""
    build = compile_options.build_options(device, extra=options, text=lowering.module.key_text)
    return _compiled(device.raw.client, lowering, device.device_list, build, [])


def _compiled(client, lowering, devices, build, calls):
    try:
        return interruptible.to_the_end(
            adapter.compile_text, client, lowering.module.text, devices, build, calls
        )
    except adapter.XlaRuntimeError as error:
        raise compile_failure(lowering, str(error)) from None


def _revive(client, key, devices, calls):
    """The executable kept under ``key``, or None."""
    blob = cache.get(key)
    if blob is None:
        return None
    try:
        return adapter.deserialize(client, blob, devices, host_callbacks=calls)
    except Exception as error:  # whatever jaxlib says of a blob that it cannot read, it is a miss
        cache.reject(key, str(error))
        return None
