"""A command of ``rabbet``, or a check of ``rabbet doctor``: what they may ask about an installation."""

from __future__ import annotations

from typing import Any

from rabbet.messages.function_names import address
from rabbet.messages.text_tables import print_table


def plugin_manager() -> Any:
    """The plugin manager of this process: its ``records`` of entry points, ``names`` of a group, ``get``.

    Example:
      >>> from rabbet.extend.commands import plugin_manager
      >>> "cpu" in plugin_manager().names("rabbet.backends")
      True
    """
    from rabbet.plugins.manager import default_manager

    return default_manager()


def entry_point_groups() -> dict[str, str]:
    """``{group: what comes through it}``, of the groups that core reads and of those that packages announce.

    Example:
      >>> from rabbet.extend.commands import entry_point_groups
      >>> entry_point_groups()["rabbet.commands"]
      'subcommands of `rabbet`'
    """
    from rabbet.plugins import discovery

    return discovery.GROUPS | dict.fromkeys(discovery.announced(), "")


def package_of(function: Any) -> str:
    """The distribution that brings a function or an object of a class, as far as core knows it, else the
    name of its package.

    Example:
      >>> from rabbet.extend.commands import package_of
      >>> package_of(lax.add), package_of(np.add)
      ('rabbet-core', 'numpy')
    """
    from rabbet.plugins import discovery

    module = getattr(function, "__module__", None) or type(function).__module__
    for record in plugin_manager().records():
        package = discovery.package_of(record.entry_point)
        if module == package or module.startswith(f"{package}."):
            return record.package
    first = module.split(".")[0]
    return discovery.CORE_DISTRIBUTION if first == "rabbet" else first


def missing_program(program: str, module: bool = False) -> str | None:
    """Why Python cannot run what a command line names: no file, a folder that is no program, a file that may
    not be read, a module that is not there. None where nothing is missing.

    Args:
      program: a path, or with ``module`` the name of a module.

    Example:
      >>> from rabbet.extend.commands import missing_program
      >>> missing_program("trian.py"), missing_program("json.tool", module=True)
      ("there is no file 'trian.py'", None)
    """
    import os

    if module:
        import importlib.util
        import sys

        there = sys.path[:]
        sys.path.insert(0, os.getcwd())  # as `python -m` has it
        try:
            found = importlib.util.find_spec(program.partition(".")[0])  # to ask for more would import this
        except (ImportError, ValueError, AttributeError):
            found = None
        finally:
            sys.path[:] = there
        if os.path.isfile(program):
            return f"{program!r} is a file: leave out -m"
        return None if found else f"there is no module {program!r}"
    if not os.path.exists(program):
        return f"there is no file {program!r}"
    if os.path.isdir(program) and not os.path.exists(os.path.join(program, "__main__.py")):
        return f"{program!r} is a folder without a __main__.py; give a file"
    if not os.access(program, os.R_OK):
        return f"{program!r} may not be read by this user"
    return None


def is_core_name(name: str) -> bool:
    """Whether ``rb.<name>`` is core's own, so that no package can offer it.

    Example:
      >>> from rabbet.extend.commands import is_core_name
      >>> is_core_name("Array"), is_core_name("grad")
      (True, False)
    """
    import rabbet
    from rabbet.plugins import public_names

    return name in rabbet._own or public_names.is_core_module(name)


def provider_of(group: str, name: str) -> str | None:
    """The package of Rabbet's own that offers a name of an entry-point group, installed or not; else None.

    Example:
      >>> from rabbet.extend.commands import provider_of
      >>> provider_of("rabbet.api", "jit")
      'rabbet-jit'
    """
    from rabbet.plugins import catalogue

    return catalogue.provider(group, name)


def plugin_variables() -> tuple[str, ...]:
    """The environment variables that choose among plugins, which are no settings.

    Example:
      >>> from rabbet.extend.commands import plugin_variables
      >>> plugin_variables()[0]
      'RABBET_PLUGINS'
    """
    from rabbet.plugins import selection

    return selection.VARIABLES


def explain_error(error: BaseException) -> str:
    """An exception in one line: its type, what it says, and the line of a package where it was raised.

    Example:
      >>> from rabbet.extend.commands import explain_error
      >>> explain_error(OSError("no disk"))
      'OSError: no disk'
    """
    from rabbet.plugins.records import cause

    return cause(error)


def backend_registry() -> Any:
    """The backends of this process: ``allowed``, those that the settings allow, ``get`` for a ``Backend``.

    Example:
      >>> from rabbet.extend.commands import backend_registry
      >>> backend_registry().get("cpu").platform
      'cpu'
    """
    from rabbet.runtime.platforms.backends import default_registry

    return default_registry()


def compilation_cache() -> Any:
    """The cache of compiled programs on disk, or None where it is switched off.

    Example:
      >>> from rabbet.extend.commands import compilation_cache
      >>> with rb.config.override(cache=False):
      ...     print(compilation_cache())
      None
    """
    from rabbet.runtime.caching.disk_cache import default_cache

    return default_cache()


def plugin_hooks() -> Any:
    """The hook plugins of this process: ``collect(hook)`` asks each of them, ``failures`` says which could
    not answer.

    Example:
      >>> from rabbet.extend.commands import plugin_hooks
      >>> [whose for whose, answers in plugin_hooks().collect("doctor_checks")]
      []
    """
    from rabbet.plugins.hooks import default_hooks

    return default_hooks()


def put_to_use() -> list[tuple[str, bool | None, str]]:
    """Put everything that is installed where it belongs, as if all of it were used: what does not fit is
    left out, and its record in the ``plugin_manager()`` says why.

    Returns:
      checks, ``(label, ok, detail)``, of what is not a single package's mistake.

    Example:
      >>> from rabbet.extend.commands import put_to_use
      >>> def what_is_wrong():
      ...     return [(label, detail) for label, ok, detail in put_to_use() if ok is False]
    """
    from rabbet import composition

    return composition.put_to_use()


__all__ = [
    "address",
    "backend_registry",
    "compilation_cache",
    "entry_point_groups",
    "explain_error",
    "is_core_name",
    "missing_program",
    "package_of",
    "plugin_hooks",
    "plugin_manager",
    "plugin_variables",
    "print_table",
    "provider_of",
    "put_to_use",
]


def __dir__() -> list[str]:
    return list(__all__)
