"""Rows, by families: those of core's primitives stand here, one module each with a list ``ROWS``; other
packages bring theirs by entry points of the group ``rabbet.rows``.

    [project.entry-points."rabbet.rows"]
    toasting = "rabbet_toaster.rows:ROWS"       # the family's name, and a list of rows

An entry point is loaded when its family is asked for, so what it names may import this kit, though the
package does not require it.
"""

import importlib
import pkgutil
from importlib.metadata import entry_points

GROUP = "rabbet.rows"


def names():
    """The families that there are, core's and those of installed packages, sorted.

    Raises:
      ValueError: two packages have a family of one name.
    """
    return sorted([*_of_core(), *_of_packages()])


def family(name):
    """The rows of one family, a list of ``Row``.

    Raises:
      KeyError: no installed package has a family of that name; lists those that there are.
    """
    if name in _of_core():
        return importlib.import_module(f"{__name__}.{name}").ROWS
    offered = _of_packages()
    if name not in offered:
        raise KeyError(f"no family of rows is called {name!r}; there are {', '.join(names())}")
    return offered[name].load()


def core_families():
    """The rows of core's primitives: a list of lists of ``Row``."""
    return [family(name) for name in _of_core()]


def families():
    """All rows that there are: a dict from the names of families to lists of ``Row``."""
    return {name: family(name) for name in names()}


def _of_core():
    return [module.name for module in pkgutil.iter_modules(__path__)]


def _of_packages():
    found = {}
    for point in entry_points(group=GROUP):
        other = found.setdefault(point.name, point)
        if point.name in _of_core() or other.value != point.value:
            first = "rabbet-testing" if point.name in _of_core() else f"{_package(other)} ({other.value})"
            raise ValueError(
                f"two packages have a family of rows {point.name!r}: {first} and {_package(point)} "
                f"({point.value}). Give one of them another name in the group {GROUP}"
            )
    return found


def _package(point):
    return point.dist.name if point.dist is not None else "a package"


__all__ = ["core_families", "families", "family", "names"]
