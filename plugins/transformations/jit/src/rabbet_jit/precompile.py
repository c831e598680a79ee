"""``precompile``: independent functions compiled side by side, on threads of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import Array, config, tree
from rabbet.extend.functions import describe_function, folded

from rabbet_jit.stages import Lowered

if TYPE_CHECKING:
    from rabbet_jit.stages import Compiled


@folded
def precompile(programs: Any, *, threads: Any = None, wait: Any = True) -> Any:
    """Compile functions before they are called, several at a time.

    Tracing and lowering are Python and happen here, one after the other; the compiler runs on other threads
    meanwhile, and lets Python run. A jitted function remembers what was compiled for it: its first call with
    such arguments starts at once.

    Args:
      programs: a sequence of ``(jitted, args)`` or ``(jitted, args, kwargs)``, the arguments being arrays or
        ``ShapeDtypeStruct`` objects, and of ``Lowered`` stages.
      threads: how many programs to compile at a time; by default one for each processor.
      wait: whether to wait for all of them.

    Returns:
      a list of ``Compiled`` in the order given; with ``wait=False`` a list of ``concurrent.futures.Future``
      of them.

    Raises:
      TypeError: for what is no such program.
      Exception: what tracing or compiling one of them raised, with a note that names it; an
        ``ExceptionGroup`` of them where several could not be compiled.

    Example:
      >>> step, score = rb.jit(lambda x: x + 1), rb.jit(rnp.sum)
      >>> compiled = rb.precompile([(step, (rnp.ones(3),)), (score, (rb.ShapeDtypeStruct((3,), "float32"),))])
      >>> [run(rnp.zeros(3)).tolist() for run in compiled]
      [[1.0, 1.0, 1.0], 0.0]
    """
    from concurrent import futures  # few programs need it; loading it would count in the first jit

    try:
        programs = list(programs)
    except TypeError:
        raise TypeError(
            f"precompile takes a list of (jitted function, tuple of arguments), got {programs!r}; for one "
            "program write rb.precompile([(f, (x, y))])"
        ) from None
    settings = config.overrides()
    count = threads or max(1, min(len(programs), os.cpu_count() or 1))
    pool = futures.ThreadPoolExecutor(count, "rabbet-compile")
    try:
        made = []
        for i, program in enumerate(programs):
            label = f"program {i + 1} of {len(programs)} given to precompile"
            lowered, device = prepared(program, label)
            made.append(pool.submit(compiled, lowered, device, settings, label))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown(wait=False)
    return results(made) if wait else made


def prepared(program: Any, label: str) -> Any:
    """One entry of the list as a ``Lowered`` and the device to compile it for (None: its own choice)."""
    if isinstance(program, Lowered):
        return program, None
    jitted, args, kwargs = taken_apart(program, label)
    device = jitted.device or next((x.device for x in tree.leaves((args, kwargs)) if is_on_one(x)), None)
    try:
        return jitted.trace(*args, **kwargs).lower(platform=device and device.platform), device
    except Exception as error:
        error.add_note(f"{label}: {describe_function(jitted.fun)}")
        raise


def taken_apart(program: tuple[Any, ...] | Callable[..., Any], label: str) -> tuple[Any, ...]:
    """``(jitted, args, kwargs)`` of an entry, or a ``TypeError`` that says what it should be."""
    if isinstance(program, tuple) and len(program) in (2, 3):
        function, args, kwargs = (*program, {})[:3]
        jitted = getattr(function, "jitted", None)
        if jitted is not None and isinstance(args, (tuple, list)) and isinstance(kwargs, dict):
            return jitted, args, kwargs
    raise TypeError(
        f"{label} must be (jitted function, tuple of arguments[, dict of keyword arguments]) or a Lowered "
        f"stage, got {program!r:.80}"
    )


def is_on_one(x: Any) -> bool:
    """Whether a value is an array that was put on one device on purpose."""
    return type(x) is Array and x.committed and x.sharding.num_devices == 1


def compiled(lowered: Lowered, device: Any, settings: dict[Any, Any], label: str) -> Any:
    """Compile one program, on a thread that has the settings of the one that asked."""
    try:
        with config.override(**settings):
            made = lowered.compile(device=device)
    except Exception as error:
        error.add_note(f"{label}: {describe_function(lowered.asked.fun)}")
        raise
    lowered.asked.keep(made)
    return made


def results(made: list[Any]) -> list[Compiled]:
    """What all futures hold, once all have ended."""
    from concurrent import futures

    futures.wait(made)
    errors = [error for f in made if (error := f.exception()) is not None]
    if len(errors) > 1:
        raise ExceptionGroup(f"{len(errors)} of {len(made)} programs could not be compiled", errors)
    return [f.result() for f in made]


__all__ = ["precompile"]
