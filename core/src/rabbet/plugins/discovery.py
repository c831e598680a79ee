"""What is installed: entry points, the distributions that own them, and the core versions they ask for.

Everything here reads package metadata and imports no plugin. The everyday listing is the one that was kept
by an earlier process (`listing_cache`), or else stevedore's, whose on-disk cache answers without opening
each installed package; that cache has name, value and group but not the owner. Python's reader of metadata
and stevedore are imported where they are needed, which takes as long as all of core. Nothing here is
imported by ``import rabbet``: the first touch of a plugin's name pays for it.
"""

from __future__ import annotations

import functools
import operator
import re
import sys
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rabbet.errors import ConfigError
from rabbet.messages.signal_errors import is_of_handler
from rabbet.plugins import catalogue, listing_cache

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

CORE_DISTRIBUTION = "rabbet-core"

# Every door for a plugin, and what comes through it. Groups of any other name are ignored.
GROUPS = {
    "rabbet.api": "public names: `grad` makes `rb.grad`",
    "rabbet.backends": "a Backend for each platform",
    "rabbet.loops": "loops that keep few states, for keywords of while_loop and scan",
    "rabbet.calls": "native functions that a package provides for platforms which are not its own",
    "rabbet.dtypes": "a DTypeSpec for each dtype name",
    "rabbet.rules": "RuleSets that bring other packages' primitives and tables together",
    "rabbet.custom_rules": "for a table, how a rule that `rb.custom_rules` has for it is made",
    "rabbet.passes": "jaxpr -> jaxpr passes, run before lowering",
    "rabbet.settings": "lists of Settings and of further names of settings",
    "rabbet.commands": "subcommands of `rabbet`",
    "rabbet.checks": "checks of `rabbet doctor`",
    "rabbet.frames": "what makes the call of a compiled function, in the place of Python's",
    "rabbet.hooks": "pluggy hook implementations (see hookspecs.py)",
}

# A package that reads a group of entry points itself announces it here: the entry point ``rows`` says that
# somebody reads ``rabbet.rows``.
ANNOUNCED = "rabbet.groups"

# Two packages may both bridge the table `batch`: their RuleSets add up, and the rule tables themselves
# refuse two rules for one primitive. Everywhere else one name means one object.
ADDITIVE_GROUPS = frozenset({"rabbet.rules"})


def cached(group: str) -> list[EntryPoint]:
    """The entry points of ``group`` as they were kept, else as stevedore's cache lists them, which is
    without owners. None is imported.
    """
    folders = tuple(sys.path)
    if folders not in _kept:
        _kept[folders] = listing_cache.read()
        if _kept[folders] is None:
            listing_cache.keep(lambda: {one: by_stevedore(one) for one in GROUPS}, owner)
    kept = _kept[folders]
    if isinstance(kept, dict):
        return kept.get(group, [])
    try:
        return by_stevedore(group)
    except Exception as error:  # the metadata of some package cannot be read, which is nothing to do with us
        if is_of_handler(error):
            raise
        return readable(group)


_kept: dict[tuple, dict | str | None] = {}  # by what Python imports from


def by_stevedore(group: str) -> list[EntryPoint]:
    """The entry points of ``group`` as stevedore's cache lists them."""
    from stevedore import NamedExtensionManager

    return list(NamedExtensionManager(group, names=[]).list_entry_points())


def scan(group: str) -> list[EntryPoint]:
    """The entry points of ``group`` read afresh from every installed package, each with its ``dist``.

    Slower than `cached`; used where the cache may lag behind (a name it does not list, ``rabbet doctor``).
    """
    import importlib.metadata

    try:
        return list(importlib.metadata.entry_points(group=group))
    except Exception as error:
        if is_of_handler(error):
            raise
        return readable(group)


def readable(group: str) -> list[EntryPoint]:
    """The entry points of ``group`` of those packages whose metadata can be read; a warning about the others.

    Python reads the metadata of all packages at once, and one file that is not text makes it fail for all.
    """
    import importlib.metadata

    found, seen = [], set()
    for distribution in importlib.metadata.distributions():
        place = getattr(distribution, "_path", "an unknown place")
        try:
            name = normalise(distribution.metadata["Name"] or str(place))
            mine = [point for point in distribution.entry_points if point.group == group]
        except Exception as error:
            if is_of_handler(error):
                raise
            _tell_of(str(place), f"{type(error).__name__}: {error}")
            continue
        if name not in seen:  # the first on the path is the one that is imported
            seen.add(name)
            found += mine
    return found


@functools.cache
def _tell_of(place: str, problem: str) -> None:
    warnings.warn(
        f"the metadata of an installed package cannot be read, so what it offers is left out: {place} "
        f"({problem})\n  to fix: install that package again, or delete the folder",
        RuntimeWarning,
        stacklevel=2,  # who is a plugin, and so no user, is what is being found out
    )


def announced() -> set[str]:
    """The groups that packages read themselves, as they announce them, installed or not yet."""
    names = {point.name for point in scan(ANNOUNCED)} | set(catalogue.names(ANNOUNCED))
    return {f"rabbet.{name}" for name in names} | {ANNOUNCED}


def owner(entry_point: EntryPoint) -> Distribution | None:
    """The distribution that declares ``entry_point``, or None where no installed one does.

    Packages usually carry their distribution's name (``rabbet_jit``, or ``rabbet.lax.linalg`` of
    rabbet-linalg), so that guess is verified first; only when it fails are all installed packages read.
    """
    if entry_point.dist is not None:
        return entry_point.dist
    import importlib.metadata

    try:
        first, *inside = package_of(entry_point).split(".")
        guess = importlib.metadata.distribution("-".join([first, *inside[-1:]]))
        if _declares(guess, entry_point):
            return guess
    except Exception as error:  # it is not there, or cannot be read
        if is_of_handler(error):
            raise
    for candidate in scan(entry_point.group):
        if key(candidate) == key(entry_point):
            return candidate.dist
    return None


def _declares(distribution: Distribution, entry_point: EntryPoint) -> bool:
    return any(key(one) == key(entry_point) for one in distribution.entry_points)


def key(entry_point: EntryPoint) -> tuple[str, str, str]:
    """What tells entry points apart: name, value, group."""
    return entry_point.name, entry_point.value, entry_point.group


# Packages of core's in whose folder plugins may have modules of their own.
NAMESPACES = frozenset(["rabbet", "rabbet.experimental", "rabbet.lax"])


def package_of(entry_point: EntryPoint) -> str:
    """The package behind an entry point: ``rabbet_jit`` or, in rabbet's own folders, ``rabbet.numpy`` and
    ``rabbet.lax.linalg``.
    """
    module = module_of(entry_point)
    parts = module.split(".")
    names = [".".join(parts[: i + 1]) for i in range(len(parts))]
    return next((name for name in names if name not in NAMESPACES), module)


def module_of(entry_point: EntryPoint) -> str:
    """The module that an entry point names; "" where its value cannot be read, as with ``two words``."""
    match = listing_cache.VALUE.fullmatch(entry_point.value)
    return match["module"] if match else ""


def normalise(name: str) -> str:
    """One spelling for distributions and packages: ``rabbet_JIT`` and ``rabbet.jit`` are ``rabbet-jit``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def unmet_requirement(distribution: Distribution, core_version: str) -> str | None:
    """The requirement on rabbet-core that ``core_version`` does not meet, as written; else None.

    Requirements whose environment marker is false here, or that belong to an extra, do not count.
    Pre-releases count as versions: a plugin that asks for ``>=0.2`` loads into ``0.3.dev1``. Raises
    ``packaging.requirements.InvalidRequirement`` for a line that cannot be read.
    """
    for line in distribution.requires or ():
        if normalise(line).startswith(CORE_DISTRIBUTION):
            met = _plainly_met(line, core_version)
            if met is None:
                met = _met(line, core_version)
            if not met:
                return line
    return None


PLAIN_VERSION = r"\d+(?:\.\d+)*"
PLAIN_REQUIREMENT = re.compile(
    rf"rabbet[-_.]core\s*\(?((?:\s*(?:[<>]=?|==|!=)\s*{PLAIN_VERSION}\s*,?)*)\)?\s*", re.IGNORECASE
)
COMPARE = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def _plainly_met(line: str, core_version: str) -> bool | None:
    # `rabbet-core>=0.1,<0.2`, the form that nearly every plugin has. Importing packaging takes
    # longer than all the rest of a plugin's loading (40 ms of 80, measured), so it is left to the
    # other forms: None here.
    found = PLAIN_REQUIREMENT.fullmatch(line)
    if found is None or not re.fullmatch(PLAIN_VERSION, core_version):
        return None
    clauses = re.findall(rf"([<>=!]+)\s*({PLAIN_VERSION})", found.group(1))
    return all(COMPARE[sign](_release(core_version), _release(bound)) for sign, bound in clauses)


def _release(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:  # 1.0 is 1
        numbers.pop()
    return tuple(numbers)


def _met(line: str, core_version: str) -> bool:
    from packaging.requirements import Requirement

    requirement = Requirement(line)
    if normalise(requirement.name) != CORE_DISTRIBUTION:
        return True
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return True
    return requirement.specifier.contains(core_version, prereleases=True)


def split_names(text: str | Iterable[str] | None) -> frozenset[str]:
    """The names in a comma- or blank-separated setting, each in its one spelling."""
    words = re.split(r"[,\s]+", text) if isinstance(text, str) else list(text or ())
    return frozenset(normalise(word) for word in words if word)


def split_choices(text: str | None) -> dict[tuple[str, str], str]:
    """``"api.grad=my-dist, dtypes.int4=other"`` as ``{("rabbet.api", "grad"): "my-dist", ...}``.

    Raises ConfigError for an item of another form, or for a group that is not one of `GROUPS`.
    """
    choices = {}
    for item in re.split(r"[,\s]+", text or ""):
        if not item:
            continue
        key, equals, distribution = item.partition("=")
        group, dot, name = key.removeprefix("rabbet.").partition(".")
        if not (equals and dot and name and distribution) or f"rabbet.{group}" not in GROUPS:
            known = ", ".join(one.removeprefix("rabbet.") for one in GROUPS)
            raise ConfigError(
                f"RABBET_PREFER: cannot read {item!r}\n"
                f"  wanted: GROUP.NAME=DISTRIBUTION, for example api.grad=my-grad; the groups are {known}"
            )
        choices[f"rabbet.{group}", name] = normalise(distribution)
    return choices
