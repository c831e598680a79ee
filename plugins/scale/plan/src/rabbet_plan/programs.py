"""A user's program: the function in it that says what to plan."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

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
      layouts: what ``layout`` may be (``LAYOUTS`` beside it), or ().
      options: what other parameters of it may be (``OPTIONS`` beside it), as in ``{"remat": ("all",
        "none")}``.
    """

    def __init__(self, function: Callable[..., Any], axes=None, layouts=(), options=None):
        self.function, self.axes, self.layouts = function, tuple(axes) if axes else None, tuple(layouts)
        self.parameters = inspect.signature(function).parameters
        self.takes_layout = "layout" in self.parameters
        self.options = {name: tuple(values) for name, values in dict(options or {}).items()}
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
        return step, tuple(args), dict(rest[0]) if rest else {}

    @property
    def name(self) -> str:
        return getattr(self.function, "__qualname__", repr(self.function))


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
    module = from_file(program) if program.endswith(".py") else from_name(program)
    wanted = function or FUNCTION
    if ":" in wanted:
        other, _, wanted = wanted.partition(":")
        module = from_name(other)
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
