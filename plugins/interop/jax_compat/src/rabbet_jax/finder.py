"""Answers ``import jax``: each module ``jax.x`` has the names of an overlay, then those of ``rabbet.x``.

Private modules of jax (``jax._src.x``) have what an overlay gives them, and stand-ins for every other name.
Modules are made afresh, so that Rabbet's own are not changed; classes and functions are Rabbet's, so that
``isinstance`` holds across both. A name is kept once it was read, but for those of an overlay's
``ASKED_EACH_TIME``, whose values change.
"""

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import types
from typing import Any

from rabbet.errors import MissingPluginError, PluginError

from rabbet_jax.defaults import take_defaults, take_name, take_words
from rabbet_jax.inner_names import BROUGHT, HOMES, INNER
from rabbet_jax.jax_version import JAX_VERSION, numbers
from rabbet_jax.missing_names import absent

OVERLAY = "rabbet_jax.overlay"
# The variable of the environment under which every Python process serves jax: rabbet_jax_compat.pth reads it.
CHILDREN = "RABBET_SERVES_JAX"
# Modules of Rabbet that are shown under jax's name: the documented ones.
SHOWN = frozenset(
    "ad_checkpoint checkpoint_policies custom_batching custom_derivatives debug distributed dlpack dtypes "
    "errors example_libraries experimental export ffi flatten_util image lax memory nn numpy ops profiler "
    "random ref scipy sharding stages test_util tree tree_util typing".split()
)
# Modules that `import jax` loads: libraries look for them in `sys.modules`, and ask for them nowhere else. Of
# those that jax loads, these cost next to nothing.
AT_ONCE = (
    "api_util core custom_derivatives dtypes errors interpreters interpreters.ad interpreters.batching "
    "interpreters.mlir lax numpy tree tree_util typing version"
).split()
_missing = object()


_namespace: Any = types.ModuleType.__dict__["__dict__"].__get__  # type: ignore[index]


class Served(types.ModuleType):
    """A module of ``jax`` that Rabbet serves.

    Its ``__getattr__`` stands among its names, as in any module, and not in this class: with one in the class
    Python looks up every name by a slower way, also one that was read before.
    """

    @property
    def __dict__(self):  # type: ignore[override]
        """All names, for programs that copy them (``dict(jnp.__dict__)``); of ``jax`` itself and of private
        modules those that were read so far.
        """
        known = _namespace(self)
        if "." in self.__name__ and not known.get("_open") and not self.__name__.startswith("jax._src"):
            for name in dir(self):
                with contextlib.suppress(Exception):
                    getattr(self, name)
        return known

    def __dir__(self):
        public = {
            name for source in self._sources for name in dir(source)
            if not name.startswith("_") and not _goes_by_another_name(vars(source).get(name))
        }  # fmt: skip
        return sorted(public | {name for name in _namespace(self) if not name.startswith("_")})


def _reader_of(self):
    """The function that finds a name of a served module when it is read for the first time."""

    def __getattr__(name):
        if name == "__file__" and self.__name__ == "jax":  # of what serves it: logs and bug reports print it
            return importlib.import_module(OVERLAY).__file__
        if name in ("__path__", "__file__", "__wrapped__"):
            raise AttributeError(name)
        if name == "__all__":  # `from jax.numpy import *`: what was not read yet is nowhere else
            return [public for public in dir(self) if _can_be_read(self, public)]
        for source in _namespace(self).get("_sources", ()):
            value = getattr(source, name, _missing)
            if value is _missing:
                continue
            if isinstance(value, types.ModuleType) and _ours(value):
                break  # it goes by jax's name
            if name not in getattr(source, "ASKED_EACH_TIME", ""):
                _namespace(self)[name] = value
            return value
        full = f"{self.__name__}.{name}"
        if name.startswith("__"):
            raise AttributeError(name)
        if name in BROUGHT.get(self.__name__, "").split():
            homes = map(_import_if_there, HOMES)
            _namespace(self)[name] = next(getattr(home, name) for home in homes if hasattr(home, name))
            return _namespace(self)[name]
        private = self.__name__.startswith("jax._src.")
        # Where a name is a module only by being imported.
        alone = private or _namespace(self).get("_open_below")
        found = None if alone and not _overlay(full[4:]) else _import_if_there(full)
        if found is not None:
            return found
        if private or _namespace(self).get("_open") or name in _namespace(self).get("_absent", ()):
            inner, why = INNER.get(self.__name__, ("", None))
            why = why if name in inner.split() else _namespace(self).get("_why")
            _namespace(self)[name] = absent(full, *(why or _reason(full)))
            return _namespace(self)[name]
        raise AttributeError(f"module {self.__name__!r}, served by Rabbet, has no attribute {name!r}")

    return __getattr__


def _can_be_read(module, name):
    """Whether a name is there and can be used: what its package needs may be absent."""
    try:
        return hasattr(module, name)
    except PluginError:
        return False


def _goes_by_another_name(value):
    """Whether it is a module of ours, which another one imports."""
    return isinstance(value, types.ModuleType) and _ours(value)


def _ours(module):
    return module.__name__.partition(".")[0] in ("rabbet", "rabbet_jax")


def _import_if_there(name):
    """The module of that name, or None; what fails inside it is raised."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def _reason(name):
    """Why a name is not there and what to do, where it belongs to a package that is not installed."""
    try:
        functools.reduce(getattr, name.split(".")[1:], importlib.import_module("rabbet"))
    except MissingPluginError as error:
        why, _, fix = str(error).partition("\n  to fix: ")
        return (why, fix) if fix else (why,)
    except AttributeError:
        pass
    return ()


def _overlay(rest):
    """What the package has for ``jax.<rest>`` itself, or None."""
    return _import_if_there(f"{OVERLAY}.{rest}" if rest else OVERLAY)


def _open_above(rest):
    """The overlay above ``jax.<rest>`` that every module below it can be imported from, or None."""
    while rest := rest.rpartition(".")[0]:
        if (found := _overlay(rest)) is not None:
            return found if getattr(found, "OPEN_BELOW", False) else None
    return None


def _of_rabbet(rest):
    """The module of Rabbet, or of jaxlib, that ``jax.<rest>`` shows, or None."""
    if not rest:
        return importlib.import_module("rabbet")
    if rest == JAXLIBS or rest.startswith(f"{JAXLIBS}."):
        return _import_if_there("jaxlib" + rest.removeprefix("extend"))
    if rest.partition(".")[0] not in SHOWN:
        return None
    found = _import_if_there(f"rabbet.{rest}")
    if found is None:
        parent, _, leaf = rest.rpartition(".")
        holder = _of_rabbet(parent)
        value = getattr(holder, leaf, None) if holder is not None else None
        found = value if isinstance(value, types.ModuleType) else None
    return found


# Modules that use public names of jax alone: where jax is installed, they are run from its files, on Rabbet.
OF_JAX = ("experimental.pallas.ops",)
# What jax shows of jaxlib's own, as it is: the bindings of MLIR.
JAXLIBS = "extend.mlir"
# What jaxlib asks JAX for when it takes an array over several devices apart; without it, it does so alone.
OF_JAXLIB = ("_src.sharding_impls",)


def _file_of_jax(fullname):
    """How a module of ``OF_JAX`` is loaded from the files of jax; None for others, and where jax is not."""
    rest = fullname[4:]
    if not any(rest == module or rest.startswith(f"{module}.") for module in OF_JAX):
        return None
    jax = importlib.machinery.PathFinder.find_spec("jax", sys.path)
    folders = (jax.submodule_search_locations or []) if jax is not None else []
    above = [os.path.join(folder, *rest.split(".")[:-1]) for folder in folders]
    return importlib.machinery.PathFinder.find_spec(fullname, above)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and makes the modules of ``jax``."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "jax" and not fullname.startswith("jax."):
            return None
        rest = fullname[4:]
        if (own := _file_of_jax(fullname)) is not None:
            return own
        sources = [module for module in (_overlay(rest), _of_rabbet(rest)) if module is not None]
        if not sources and (above := _open_above(rest)) is not None:
            sources = [above]
        if not sources and (not rest.startswith("_src.") or rest in OF_JAXLIB):
            why = "; ".join(_reason(fullname)) or "which has no such module"
            raise ModuleNotFoundError(
                f"No module named {fullname!r} (jax is served by Rabbet, {why})", name=fullname
            )
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.loader_state = sources
        return spec

    def create_module(self, spec):
        module = Served(spec.name)
        _namespace(module)["_sources"] = spec.loader_state
        _namespace(module)["__getattr__"] = _reader_of(module)
        inner, _ = INNER.get(spec.name, ("", None))
        _namespace(module)["_absent"] = frozenset(
            " ".join([inner, *[getattr(source, "ABSENT", "") for source in spec.loader_state]]).split()
        )
        _namespace(module)["_why"] = next((s.WHY for s in spec.loader_state if hasattr(s, "WHY")), None)
        _namespace(module)["_open_below"] = any(getattr(s, "OPEN_BELOW", False) for s in spec.loader_state)
        _namespace(module)["_open"] = any(getattr(source, "OPEN", False) for source in spec.loader_state)
        return module

    def exec_module(self, module):
        sources = module._sources
        for source in sources:
            if source.__doc__:
                module.__doc__ = source.__doc__
        listed = [vars(source).get("__all__") for source in sources]
        if listed and all(listed):  # else they are found when `import *` asks
            module.__all__ = [name for names in listed for name in names]
        if module.__name__ == "jax":
            module.__version__ = JAX_VERSION
            module.__version_info__ = numbers(JAX_VERSION)
            take_defaults()
            take_name()
            take_words()
            from rabbet_jax.second_names import take_second_names  # loads what it names

            take_second_names()
            sys.modules[module.__name__] = module
            for name in AT_ONCE:
                _import_if_there(f"jax.{name}")


def installed():
    """Whether ``import jax`` is answered by Rabbet.

    Example:
      >>> import rabbet_jax
      >>> rabbet_jax.installed()
      False
    """
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def install(*, children=False):
    """Answer every ``import jax`` from here on; a second call does nothing.

    Args:
      children: whether Python processes that this one starts do so too. They are told by the environment
        variable ``RABBET_SERVES_JAX``; one that starts without ``site`` (``python -S``) does not look.

    Raises:
      ImportError: if jax itself is loaded already: two frameworks would be mixed.

    Example:
      >>> import rabbet_jax
      >>> rabbet_jax.install()  # doctest: +SKIP
      >>> import jax.numpy as jnp  # doctest: +SKIP
    """
    loaded = sys.modules.get("jax")
    if loaded is not None and not isinstance(loaded, Served):
        raise ImportError(
            "jax itself is loaded already, so Rabbet cannot take its place; call rabbet_jax.install() before "
            "the first `import jax`, or run the program by `python -m rabbet_jax`"
        )
    if not installed():
        sys.meta_path.insert(0, Finder())
    if children:
        os.environ[CHILDREN] = "1"
