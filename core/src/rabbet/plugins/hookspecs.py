"""Every hook, with one sentence each. What is not on this page cannot be hooked.

A hook plugin is a module or an object with functions marked ``@rabbet.extend.hooks.hookimpl``, named by an
entry point of the group ``rabbet.hooks``. An implementation may take any subset of a hook's arguments.
Hooks are called around tracing and compiling, never when a compiled program runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pluggy

from rabbet.program.hook_facts import CompiledProgram, PassRun, Transfer

hookspec = pluggy.HookspecMarker("rabbet")
_marker = pluggy.HookimplMarker("rabbet")


def hookimpl(function: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """Decorator: marks a function of a hook plugin as the implementation of the hook of its name.

    Args:
      function: takes any of the hook's facts, by their names.
      options: those of ``pluggy``: ``tryfirst=True``, ``trylast=True``, ``wrapper=True``.

    Example:
      >>> from rabbet.extend.hooks import hookimpl
      >>> @hookimpl
      ... def compile_finished(name, seconds):
      ...     print(f"{name} took {seconds:.1f} s")
      >>> compile_finished("step", 2.0)
      step took 2.0 s
    """
    return _marker(function, **options)


@hookspec
def trace_started(name: Any, reason: Any) -> None:
    """The function ``name`` is about to be traced to a jaxpr; ``reason`` says why its earlier traces do not
    serve: which argument's type, static value or structure changed, or which setting.
    """


@hookspec
def trace_finished(name: Any, seconds: Any) -> None:
    """Tracing ``name`` has ended, by success or by an exception, after ``seconds``."""


@hookspec
def lower_finished(name: Any, platform: Any, pass_seconds: Any, seconds: Any) -> None:
    """The program ``name`` was written for ``platform``: the passes took ``pass_seconds``, the text
    ``seconds``.
    """


@hookspec
def compile_started(name: Any, platform: Any, module_size: Any) -> None:
    """``name``, a module of ``module_size`` characters, is about to be compiled for ``platform``."""


@hookspec
def compile_finished(name: Any, seconds: Any, cached: Any) -> None:
    """Compiling ``name``, announced in this thread, has ended, well or by an exception, after ``seconds``.

    ``cached`` says that the executable came from the persistent cache instead of the compiler.
    """


@hookspec
def program_shared(name: Any) -> None:
    """This process has compiled the very program ``name`` before, so its executable is used again."""


@hookspec
def cache_hit(name: Any) -> None:
    """The program ``name`` was found in the persistent compilation cache."""


@hookspec
def cache_miss(name: Any) -> None:
    """The program ``name`` was not in the persistent compilation cache, so it will be compiled."""


@hookspec
def pass_finished(run: PassRun) -> None:
    """A pass has run over a program; ``run`` is a ``PassRun``: its name, the program's name and line,
    seconds, and how many equations there were before and after.
    """


@hookspec
def program_ready(program: CompiledProgram) -> None:
    """A program can run; ``program`` is a ``CompiledProgram``: its name and line, where it came from, how
    long that took in seconds, what memory it needs in bytes, and how devices communicate in it.
    """


@hookspec
def transferred(transfer: Transfer) -> None:
    """Values were moved between the host and a device; ``transfer`` is a ``Transfer``: where to, and how many
    bytes. Called where it happens, so that it should be quick.
    """


@hookspec
def device_lost(device: Any, error: Any) -> None:
    """``device`` stopped answering; ``error`` is what it said, and is raised after this hook."""


@hookspec
def doctor_checks() -> None:
    """Checks for ``rabbet doctor``: an iterable of ``(label, ok, detail)``, two strings and a bool."""


EXAMPLES = {
    "name": "step", "reason": "first call", "platform": "cpu", "module_size": 1234, "seconds": 0.25,
    "pass_seconds": 0.01, "cached": False, "device": "cpu:0", "error": RuntimeError("an example"),
    "run": PassRun("cse", "step", "model.py:12", "cpu", 0.002, 40, 36),
    "program": CompiledProgram("step", "model.py:12", "cpu", 1, 0.5, "compiler", 800, 4, 0),
    "transfer": Transfer("host-to-device", 4096, "cpu:0", True),
}  # fmt: skip


def example_facts() -> dict[str, dict[str, Any]]:
    """``{hook: {fact: an example}}``, to call hooks with that are to be tried.

    Example:
      >>> from rabbet.extend.hooks import example_facts
      >>> example_facts()["trace_finished"]
      {'name': 'step', 'seconds': 0.25}
    """
    return {hook: {fact: EXAMPLES[fact] for fact in facts(hook)} for hook in hook_names()}


def hook_names() -> list[str]:
    """The names of all hooks on this page."""
    return [name for name, value in globals().items() if hasattr(value, "rabbet_spec")]


def facts(hook: str) -> list[str]:
    """The names of the facts that a hook is given."""
    return list(inspect.signature(globals()[hook]).parameters)
