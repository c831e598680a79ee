"""What ``rabbet.__getattr__`` asks: the object behind ``rb.grad``, or an error that says which
package to install.

Kept apart from the manager so that ``import rabbet`` costs nothing: until the first such name is
touched, neither package metadata nor stevedore nor pluggy is imported.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

from rabbet.errors import MissingPluginError
from rabbet.messages import names_of_jax, tracebacks
from rabbet.messages.spelling import nearest
from rabbet.plugins import catalogue, installing

if TYPE_CHECKING:
    from rabbet.plugins.manager import PluginManager

GROUP = "rabbet.api"


def resolve(name: str, manager: Any = None) -> Any:
    """The object that installed plugins offer as ``rb.<name>``, or core's module of that name; imported now.

    ``name`` may be dotted: ``experimental.jet`` is what ``rabbet.experimental`` asks for.

    Raises:
      AttributeError: nothing is known by that name; the message suggests close matches.
      MissingPluginError: (an AttributeError too) a known package offers it and is not installed, or
        is switched off.
      PluginError: an installed plugin offers it and is broken.
    """
    namespace, _, short = f"rabbet.{name}".rpartition(".")
    if short.startswith("_"):  # what inspect and copy probe for; never a plugin
        raise AttributeError(f"module {namespace!r} has no attribute {short!r}")
    if is_core_module(name):
        return importlib.import_module(f"rabbet.{name}")
    manager = manager or _default()
    try:
        return manager.get(GROUP, name)
    except MissingPluginError:
        # Its own message is the best one where the name is offered, by a package that the settings
        # switch off.
        if manager.records(GROUP, name):
            raise
    home = catalogue.provider(GROUP, name)
    if home is not None and not _installed(home):
        raise MissingPluginError(
            f"rb.{name} is provided by the package {home}, which is not installed\n"
            f"  to fix: {installing.command(home)}"
        )
    raise AttributeError(f"module {namespace!r} has no attribute {short!r}{_suggestion(name, manager)}")


def for_users(name: str, value: Any) -> Any:
    """What users get as ``rb.<name>``: a function folds, whether or not its package has thought of that."""
    door = tracebacks.folded(value) if isinstance(value, FunctionType) else value
    if door is not value:  # pickle finds the door where users do, and under its own name the function
        door.__module__, _, door.__qualname__ = f"rabbet.{name}".rpartition(".")
    return door


def names(manager: PluginManager | None = None, within: str = "") -> list[str]:
    """The names that installed plugins add to ``rb``, or to its namespace ``within``, sorted; for ``dir``.
    Imports no plugin.
    """
    found = [one.rpartition(".") for one in (manager or _default()).names(GROUP)]
    return [short for namespace, _, short in found if namespace == within]


def missing_module(name: str) -> str | None:
    """What to say where ``import rabbet.<name>`` finds no module; None where no more is known than that."""
    namespace, _, short = name.rpartition(".")
    home = catalogue.provider(GROUP, name) or catalogue.provider(GROUP, name.partition(".")[0])
    if home is not None and not _installed(home):
        return (
            f"rabbet.{name} is provided by the package {home}, which is not installed\n"
            f"  to fix: {installing.command(home)}"
        )
    place = None if namespace else names_of_jax.place(short)
    if place is not None:
        return f"No module named 'rabbet.{name}'; the name is JAX's. Here: {place}"
    return None


def is_core_module(name: str) -> bool:
    """Whether core has a module of this name, which no plugin can then offer."""
    # `from rabbet import extend` asks for the attribute before Python looks for the file, and that must not
    # start the plugin system. Modules of plugins may lie in the same folder; they come through the manager.
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), *name.split("."))
    is_module = os.path.isfile(path + ".py") or os.path.isfile(os.path.join(path, "__init__.py"))
    return is_module and catalogue.provider(GROUP, name) is None


def _installed(distribution: str) -> bool:
    import importlib.metadata

    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _suggestion(name: str, manager: PluginManager) -> str:
    place = names_of_jax.place(name)
    if place is not None:
        return f"; the name is JAX's. Here: {place}"
    namespace = name.rpartition(".")[0]
    module = sys.modules.get(f"rabbet.{namespace}" if namespace else "rabbet")
    own = [f"{namespace}.{one}" if namespace else one for one in vars(module or object)]
    candidates = {*own, *manager.names(GROUP), *catalogue.names(GROUP)}
    public = sorted(one for one in candidates if not one.rpartition(".")[2].startswith("_"))
    close = nearest(name, public, n=3)
    if not close:
        return "; `python -m rabbet plugins` lists what the installed plugins provide"
    return f". Did you mean {' or '.join('rb.' + one for one in close)}?"


def _default() -> PluginManager:
    from rabbet.plugins.manager import default_manager

    return default_manager()
