"""A user's program: the function in it that says what to plan."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from rabbet import config
from rabbet.errors import ConfigError

FUNCTION = "plan"
ADVICE = """it says what to plan: a function of a mesh that returns the step and the types of its arguments

    def plan(mesh):
        sharding = NamedSharding(mesh, PartitionSpec("data"))
        return step, (rb.ShapeDtypeStruct((1024, 512), "float32", sharding=sharding),)"""


class Program:
    """What a program says of itself.

    Attributes:
      function: ``(mesh)`` or ``(mesh, layout)``, which returns ``(step, arguments)`` or ``(step, arguments,
        keywords)``.
      axes: the names of the mesh's axes (``AXES`` beside the function), or None.
      layouts: what ``layout`` may be (``LAYOUTS`` beside it, a tuple, or a dict by their names), or ().
      options: what other parameters of it may be (``OPTIONS`` beside it), as in ``{"remat": ("all",
        "none")}``.
    """

    def __init__(self, function: Callable[..., Any], axes=None, layouts=(), options=None):
        self.function = function
        self.axes = names("AXES", axes, '("data", "model")') if axes is not None else None
        self.layouts = names("LAYOUTS", layouts, '("tensor", "fsdp")', object)
        self.parameters = inspect.signature(function).parameters
        self.takes_layout = "layout" in self.parameters
        self.options = options_of(options)
        for name in self.options:
            if name not in self.parameters:
                raise ConfigError(
                    f"{self.name} takes no {name!r}, which its OPTIONS name: give it a parameter"
                )

    def step(self, mesh, layout=None, **options):
        """The step, its arguments and keywords on a mesh."""
        if layout is not None and not self.takes_layout:
            raise ConfigError(f"{self.name} takes no layout: give it a parameter `layout`")
        if layout is not None:
            options["layout"] = layout
        made = self.function(mesh, **options)
        if not (isinstance(made, tuple) and len(made) in (2, 3) and callable(made[0])):
            raise ConfigError(
                f"{self.name} must return (step, arguments) or (step, arguments, keywords), got {made!r:.80}"
            )
        step, args, *rest = made
        if not isinstance(args, (tuple, list)):
            raise ConfigError(
                f"{self.name}: the arguments of the step are a tuple, got {type(args).__name__}"
            )
        if rest and not isinstance(rest[0], dict):
            raise ConfigError(
                f"{self.name}: the keywords of the step are a dict, got {type(rest[0]).__name__}"
            )
        return step, tuple(args), dict(rest[0]) if rest else {}

    @property
    def name(self) -> str:
        return getattr(self.function, "__qualname__", repr(self.function))


def names(what: str, given: Any, example: str, kind: type = str) -> tuple[Any, ...]:
    """A tuple of the names that a program gives, or of other things of one kind; of a dict its keys."""
    given = tuple(given) if isinstance(given, dict) else given
    if not isinstance(given, (tuple, list)) or not all(isinstance(name, kind) for name in given):
        raise ConfigError(f"{what} in the program is a tuple of names, as in {example}; got {given!r:.80}")
    return tuple(given)


def options_of(given: Any) -> dict[str, tuple[Any, ...]]:
    """What the program's ``OPTIONS`` say."""
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(values, (tuple, list)) for values in given.values()):
        raise ConfigError(
            'OPTIONS in the program is a dict of tuples, as in {"remat": ("all", "none")}; '
            f"got {given!r:.80}"
        )
    return {name: tuple(values) for name, values in given.items()}


def told(error: Exception, program: str) -> str:
    """An exception of a user's program as Python shows it, from the program's first line on. Without a line
    of the program's: the exception alone, unless ``RABBET_TRACEBACK=full``.
    """
    file = os.path.abspath(program.partition(":")[0] if not os.path.exists(program) else program)
    trace = error.__traceback__
    while trace is not None and os.path.abspath(trace.tb_frame.f_code.co_filename) != file:
        trace = trace.tb_next
    if trace is None and config.traceback == "full":  # type: ignore[attr-defined]
        trace = error.__traceback__
    lines = traceback.format_exception(type(error), error, trace, chain=trace is not None)
    return "".join(lines).rstrip()


def load(program: str, function: str | None = None) -> Program:
    """The ``Program`` of a file or module.

    Args:
      program: the path of a file, the name of a module, or ``module:name``.
      function: the function's name, by default ``plan``.

    Raises:
      ConfigError: where there is no such file, module or function.
    """
    named, colon, inner = program.partition(":")
    if colon and not os.path.exists(program):
        program, function = named, function or inner
    if os.path.isdir(program) and not os.path.exists(os.path.join(program, "__init__.py")):
        raise ConfigError(f"{program!r} is a folder; give a file that ends in .py, or a module")
    wanted = function or FUNCTION
    try:
        module = from_file(program) if program.endswith(".py") else from_name(program)
        if ":" in wanted:
            other, _, wanted = wanted.partition(":")
            module = from_name(other)
    except SystemExit as ended:
        raise ConfigError(
            f"{program} ended with the exit status {ended.code!r} when it was imported; what is to run only "
            'as a program stands under `if __name__ == "__main__":`'
        ) from None
    found = getattr(module, wanted, None)
    if not callable(found):
        raise ConfigError(f"{program} has no function {wanted!r}; {ADVICE}")
    axes, layouts, options = [getattr(module, name, None) for name in ("AXES", "LAYOUTS", "OPTIONS")]
    return Program(found, axes, layouts or (), options)


def from_file(path: str):
    """The module in a file; what it imports from its own folder is found, as if it were run."""
    if not os.path.isfile(path):
        raise ConfigError(f"there is no file {path!r}")
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def from_name(name: str):
    """A module by name; the current folder is looked in first."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise ConfigError(f"{name!r} is no module's name; give a module, or the path of a file in .py")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise ConfigError(
                f"there is no module {name!r}; give the path of a file that ends in .py"
            ) from None
        raise


__all__ = ["Program", "load"]
