"""Every public name: what `dir` of `rabbet` lists, and of each public module that it leads to."""

import importlib
import inspect
import json
import pathlib
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import foreign

ROOT = pathlib.Path(__file__).resolve().parents[3]
CATALOGUE = ROOT / "core" / "src" / "rabbet" / "plugins" / "catalogue.json"
# Objects of these types are values, and the docstring that they have is their type's.
VALUES = (bool, int, float, complex, str, bytes, tuple, list, dict, frozenset, type(None))
# Names of rabbet that are themselves modules in other packages' sense, or that nobody looks up.
UNLISTED = ("composition",)


class Name(NamedTuple):
    """A public name: ``Name("rabbet.numpy", "einsum", <function>)``."""

    module: str
    name: str
    thing: Any

    @property
    def full(self) -> str:
        """``rabbet.numpy.products.einsum``."""
        return f"{self.module}.{self.name}"

    @property
    def doc(self) -> str:
        """The docstring of the object itself, without indentation, or ours of what is not; empty for
        values.
        """
        if (ours := foreign.doc_of(self.thing)) is not None:
            return ours
        foreign_type = isinstance(self.thing, type) and self.thing.__module__ == "numpy"
        if isinstance(self.thing, VALUES) or foreign_type:
            return ""
        text = inspect.getdoc(self.thing) or ""
        owner = getattr(self.thing, "__module__", None) or ""
        # A function that is NumPy's own has its documentation there.
        return text.partition("\n\n")[0] if owner.partition(".")[0] == "numpy" else text

    @property
    def is_callable(self) -> bool:
        """Whether it is a function or a class: what can have an example."""
        return callable(self.thing) and not isinstance(self.thing, types.GenericAlias)


def modules(root: str = "rabbet") -> dict[str, types.ModuleType]:
    """The public modules by their names, in the order in which a reader meets them."""
    found: dict[str, types.ModuleType] = {}

    def visit(module: types.ModuleType) -> None:
        if module.__name__ in found:
            return
        found[module.__name__] = module
        for name in dir(module):
            value = None if name.startswith("_") or name in UNLISTED else getattr(module, name)
            if isinstance(value, types.ModuleType) and value.__name__.startswith("rabbet."):
                visit(value)

    visit(importlib.import_module(root))
    return dict(sorted(found.items()))


def names_of(module: types.ModuleType) -> Iterator[Name]:
    """The public names of one module, modules left out, sorted without regard to case."""
    for name in sorted(dir(module), key=lambda one: (one.lower(), one)):
        if not name.startswith("_") and name not in UNLISTED:
            thing = getattr(module, name)
            if not isinstance(thing, types.ModuleType):
                yield Name(module.__name__, name, thing)


def all_names() -> list[Name]:
    """The names of all public modules."""
    return [name for module in modules().values() for name in names_of(module)]


def packages() -> dict[str, str]:
    """The distribution that brings a name, by the name without ``rabbet.``; what is not there is core's."""
    return json.loads(CATALOGUE.read_text())["rabbet.api"]


def package_of(full: str, listed: dict[str, str]) -> str:
    """The distribution that brings ``rabbet.numpy.products.einsum``."""
    parts = full.split(".")[1:]
    for end in range(len(parts), 0, -1):
        if (package := listed.get(".".join(parts[:end]))) is not None:
            return package
    return "rabbet-core"
