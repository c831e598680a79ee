"""The plugin manager: one name in, one loaded object out, and no plugin that can break another.

A manager is an ordinary object, built from entry points; tests build fresh ones from made-up entry
points and never clean up. The process has one default, made in `default_manager`.

Looking a name up goes: list the group -> drop what the settings switch off -> settle conflicts ->
check the version of rabbet-core that the plugin asks for -> import. The first failing step ends the
journey, is kept as a `Record`, and is raised only to who asked for that name.

Threads. The lock guards the manager's dictionaries and is never held while a plugin is imported.
Python has a lock for each module being imported, and a plugin's module may itself ask the manager
for names: with our lock held around the import, two threads could each hold the lock that the other
needs. So two threads may load one name together; Python's own lock runs the module once, and the
first result is the one that is kept.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rabbet.errors import MissingPluginError, PluginConflictError, PluginError, PluginWarning
from rabbet.messages.signal_errors import is_of_handler
from rabbet.messages.source_positions import stacklevel
from rabbet.plugins import catalogue, discovery, validation
from rabbet.plugins.records import Record, cause, last_frames
from rabbet.plugins.selection import Selection
from rabbet.program.once_per_process import made_once
from rabbet.version import VERSION

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint


class PluginManager:
    """Finds, checks and loads plugins.

    Args:
      entry_points: what is installed; None asks the environment (stevedore's cache first). Tests give a list.
      core_version: the version that plugins' ``Requires-Dist: rabbet-core`` is checked against.
      selection: the allow and deny lists, and who wins conflicts; None allows all.
      on_load: called with the folder or file of each plugin package that has been imported, so that
        tracebacks can leave its lines out; None for nothing.
    """

    def __init__(
        self,
        entry_points: Iterable[EntryPoint] | None = None,
        *,
        core_version: str,
        selection: Selection | None = None,
        on_load: Callable[..., Any] | None = None,
    ) -> None:
        self._given = None if entry_points is None else list(entry_points)
        self.core_version = core_version
        self.selection = Selection() if selection is None else selection
        self._on_load = on_load
        self._lock = threading.RLock()
        self._groups: dict[str, dict[str, list[Record]]] = {}
        self._rescanned: set[str] = set()
        self._warned: set[str] = set()
        # By entry point, its distribution; by distribution, what it requires and is not met. To
        # read metadata takes longer than to import a small plugin, and one distribution brings several.
        self._owners: dict[tuple, Distribution] = {}
        self._unmet: dict[Distribution, str | None] = {}

    # Listing ------------------------------------------------------------------------------------

    def names(self, group: str) -> list[str]:
        """The names that ``group`` offers, sorted, without those that the settings switch off."""
        offers = self._offers(group)
        return sorted(n for n, records in offers.items() if any(r.status != "disabled" for r in records))

    def listed(self, group: str) -> list[Record]:
        """The records of ``group`` as the listing has them; nothing else is read."""
        return [record for records in self._offers(group).values() for record in records]

    def records(self, group: str | None = None, name: str | None = None) -> list[Record]:
        """What is known about each entry point (of one group, of one name), sorted, with owners looked up.

        Nothing is imported: a plugin that nobody has used yet is ``found``. See `load_all`.
        """
        groups = [group] if group is not None else list(discovery.GROUPS)
        found = [r for g in groups for rs in self._offers(g).values() for r in rs if name in (None, r.name)]
        for record in found:
            self._find_owner(record)
        return sorted(found, key=lambda r: (list(discovery.GROUPS).index(r.group), r.name, r.package))

    def load_all(self) -> list[Record]:
        """Load every plugin that the settings allow, keep every failure, and return all records."""
        for group in discovery.GROUPS:
            for name in self.names(group):
                self.get_all(group, name, quiet=True)
        return self.records()

    # Loading ------------------------------------------------------------------------------------

    def get(self, group: str, name: str) -> Any:
        """The object that ``name`` stands for in ``group``, imported on first use.

        Raises:
          MissingPluginError: no installed package offers the name, or the settings switch off those that do.
          PluginConflictError: several packages offer it and RABBET_PREFER does not say which.
          PluginError: the plugin was made for another rabbet-core, or its import raised; the real
            cause is ``__cause__``.
        """
        return self._load(self._candidates(group, name)[0])

    def get_all(self, group: str, name: str, *, quiet: bool = False) -> list:
        """The objects of every usable provider of ``name``; those that fail are left out and kept
        in `records`.

        For groups in which several packages add to one name (``rabbet.rules``), and for listings.
        Never raises for what a plugin does, and warns once, unless ``quiet``.
        """
        loaded = []
        for record in self._offers(group).get(name, ()):
            if record.status == "conflict" and not quiet:
                self.warn(record, PluginConflictError(str(record.error)))
            if record.status in ("found", "loaded"):
                try:
                    loaded.append(self._load(record))
                except PluginError as error:
                    if not quiet:
                        self.warn(record, error)
        return loaded

    def objects(self, group: str) -> list:
        """The objects of every usable plugin of ``group``, sorted by name; those that fail are left out."""
        return [one for name in self.names(group) for one in self.get_all(group, name)]

    def fail(self, record: Record, error: BaseException, status: str = "failed") -> None:
        """Keep ``error`` as the reason why ``record`` cannot be used; the first reason stays.

        For callers that find a loaded plugin to be broken, such as a hook with arguments that its spec lacks.
        """
        with self._lock:
            if not record.broken:
                record.status, record.error = status, error
                record.cause, record.frames = cause(error), last_frames(error)

    def warn(self, record: Record, error: PluginError) -> None:
        """Say that a plugin is left out, once for all that its package brings; a conflict of several once."""
        if record.package not in self._warned:
            rivals = self._offers(record.group).get(record.name, ()) if record.status == "conflict" else ()
            self._warned.update({record.package}, [one.package for one in rivals])
            text = f"{error}\n  everything else works without it"
            warnings.warn(text, PluginWarning, stacklevel=stacklevel())

    # Steps of the journey -----------------------------------------------------------------------

    def _offers(self, group: str) -> dict[str, list[Record]]:
        """The records of ``group`` by name. Metadata is read once; nothing is imported."""
        if group not in discovery.GROUPS:
            raise PluginError(f"no plugin group is called {group!r}\n  groups: {', '.join(discovery.GROUPS)}")
        with self._lock:
            if group not in self._groups:
                self._groups[group] = self._read(group, discovery.cached)
            return self._groups[group]

    def _read(self, group: str, listing: Callable[..., Any]) -> dict[str, list[Record]]:
        given = self._given
        entry_points = listing(group) if given is None else [one for one in given if one.group == group]
        offers = defaultdict(list)
        for entry_point in sorted(entry_points, key=lambda one: (one.name, one.value)):
            record = Record(entry_point, entry_point.dist)
            self._apply_selection(record)
            offers[record.name].append(record)
        if group not in discovery.ADDITIVE_GROUPS:
            for name, records in offers.items():
                self._settle(group, name, [one for one in records if one.status == "found"])
        return dict(offers)

    def _apply_selection(self, record: Record) -> None:
        if self.selection.allow is None and not self.selection.deny:
            return  # the owner would be looked up for nothing
        self._find_owner(record)
        refusal = self.selection.refusal(record)
        if refusal is not None:
            record.status, record.error = "disabled", MissingPluginError(refusal)

    def _find_owner(self, record: Record) -> None:
        entry_point = record.entry_point
        if record.distribution is not None or entry_point.dist is not None:
            record.distribution = record.distribution or entry_point.dist
            return
        key = discovery.key(entry_point)
        if key not in self._owners:
            found = discovery.owner(entry_point)
            if found is None:
                return
            for one in found.entry_points:
                self._owners.setdefault(discovery.key(one), found)
            self._owners[key] = found
        record.distribution = self._owners[key]

    def _candidates(self, group: str, name: str) -> list[Record]:
        """The providers of ``name`` that may be used, or the error that says why there are none."""
        records = self._offers(group).get(name) or self._look_again(group, name)
        usable = [record for record in records if record.status not in ("disabled", "passed over")]
        if usable:
            return sorted(usable, key=lambda record: record.status == "conflict")
        if not records:
            raise MissingPluginError(f"no installed package offers {name!r} in the entry-point group {group}")
        offers = "; ".join(f"{one.title}: {one.error}" for one in records)
        raise MissingPluginError(f"{_public(group, name)} is installed but {_reason(records)}\n  {offers}")

    def _look_again(self, group: str, name: str) -> list[Record]:
        """The cached listing lacks ``name``: read the packages themselves, once; it may lag behind."""
        if self._given is not None:
            return []
        with self._lock:
            if group not in self._rescanned:
                self._rescanned.add(group)
                for found, records in self._read(group, discovery.scan).items():
                    self._groups[group].setdefault(found, records)
            return self._groups[group].get(name, [])

    def _settle(self, group: str, name: str, records: list[Record]) -> None:
        """Of several packages that offer ``name`` keep the one that RABBET_PREFER names, or none."""
        if len(records) < 2:
            return
        for record in records:
            self._find_owner(record)
        preferred = self.selection.prefer.get((group, name))
        chosen = [one for one in records if preferred in one.called]
        if len(chosen) == 1:
            for record in records:
                record.status = "found" if record is chosen[0] else "passed over"
            return
        error = PluginConflictError(_conflict(group, name, records, preferred))
        ours = catalogue.provider(group, name) if preferred is None else None
        for record in records:
            if record.package != ours:  # a package of Rabbet's keeps the name that it is known to have
                self.fail(record, error, "conflict")

    def _load(self, record: Record) -> Any:
        if record.status == "loaded":
            return record.object
        if not record.broken:
            self._check_version(record)
        if not record.broken:
            self._import(record)
        if record.status == "conflict":
            raise PluginConflictError(str(record.error))
        if record.broken:
            raise PluginError(_failure(record)) from record.error
        return record.object

    def _check_version(self, record: Record) -> None:
        """Before the import, above all before native code that expects another core is loaded."""
        self._find_owner(record)
        owner = record.distribution
        if owner is None:
            return
        try:
            if owner not in self._unmet:
                self._unmet[owner] = discovery.unmet_requirement(owner, self.core_version)
            unmet = self._unmet[owner]
        except Exception as error:  # metadata that cannot be parsed is the plugin's failure, not ours
            if is_of_handler(error):
                raise
            self.fail(record, error, "incompatible")
            return
        if unmet is not None:
            reason = f"it requires {unmet}, and rabbet-core {self.core_version} is installed"
            self.fail(record, PluginError(reason), "incompatible")

    def _import(self, record: Record) -> None:
        module = discovery.module_of(record.entry_point)
        if not module:
            self.fail(record, PluginError(_unreadable(record)), "invalid")
            return
        try:
            loaded = record.entry_point.load()
        except (KeyboardInterrupt, GeneratorExit):  # whoever runs the program wants it to end
            raise
        except BaseException as error:
            if is_of_handler(error):
                raise
            if _still_importing(module):
                raise PluginError(_circular(record)) from error
            with self._lock:
                if record.status != "loaded":  # by another thread, meanwhile
                    self.fail(record, error)
            return
        wrong = validation.problem(record.group, record.name, loaded)
        if wrong is not None:
            self.fail(record, PluginError(wrong), "invalid")
            return
        with self._lock:
            if record.status != "loaded":
                record.object, record.status = loaded, "loaded"
        if self._on_load is not None:
            for place in source_places(module):
                self._on_load(place)


def source_places(module_name: str) -> list[str]:
    """The folders (or, for a plugin that is one module, the file) that hold an imported plugin's code.

    That is the outermost package around the module that is not one of core's own in which plugins have
    theirs, since those hold other people's code too.
    """
    for name in _with_parents(module_name):
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if name not in discovery.NAMESPACES and file:
            return list(getattr(module, "__path__", [file]))
    return []


def _with_parents(module_name: str) -> list[str]:
    parts = module_name.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _still_importing(module_name: str) -> bool:
    # A name asked for while its own module is half imported is a circle, not a broken plugin:
    # nothing to remember.
    modules = [sys.modules.get(name) for name in _with_parents(module_name)]
    return any(getattr(getattr(one, "__spec__", None), "_initializing", False) for one in modules)


# Messages --------------------------------------------------------------------------------------


def _public(group: str, name: str) -> str:
    return f"rb.{name}" if group == "rabbet.api" else f"{name!r} ({group})"


def _reason(records: list[Record]) -> str:
    return "its package is switched off" if len(records) == 1 else "its packages are switched off"


def _failure(record: Record) -> str:
    lines = [f"{_public(record.group, record.name)} comes from {record.title}, which cannot be used"]
    if record.status == "incompatible":
        lines += [
            f"  {record.error}; it was not imported",
            f"  to fix: python -m pip install --upgrade {record.package} rabbet-core",
        ]
    elif record.status == "invalid":
        lines += [
            f"  {record.error}",
            f"  to go on without it: RABBET_DISABLE_PLUGINS={record.package}",
        ]
    else:
        lines += [
            f"  {record.cause}",
            "  the whole story: python -m rabbet doctor",
            f"  to go on without it: RABBET_DISABLE_PLUGINS={record.package}",
        ]
    return "\n".join(lines)


def _unreadable(record: Record) -> str:
    return (
        f"its entry point has the value {record.value!r}, which names no object\n"
        "  to fix: write `module:object` or `module`"
    )


def _conflict(group: str, name: str, records: list[Record], preferred: str | None) -> str:
    short = f"{group.removeprefix('rabbet.')}.{name}"
    lines = [f"{len(records)} packages offer {_public(group, name)}:"]
    ours = catalogue.provider(group, name) if preferred is None else None
    lines += [f"  {one.title}{', which is used' if one.package == ours else ''}" for one in records]
    if preferred is not None:
        lines.append(f"  RABBET_PREFER names {preferred!r} for {short}, which is not exactly one of them")
    lines.append(f"  to choose: RABBET_PREFER={short}={records[0].package}, or uninstall one")
    return "\n".join(lines)


def _circular(record: Record) -> str:
    return (
        f"{_public(record.group, record.name)} was asked for while {record.title} was still being imported\n"
        f"  to fix: inside that plugin import its own modules, not the public name"
    )


# The process's own -----------------------------------------------------------------------------


@made_once
def default_manager() -> PluginManager:
    """The manager of this process, over what is installed and the RABBET_ settings of the environment.

    The settings are read once, here: which plugins exist cannot change under a running program.
    """
    selection = Selection.from_settings(
        os.environ.get("RABBET_PLUGINS"),
        os.environ.get("RABBET_DISABLE_PLUGINS"),
        os.environ.get("RABBET_PREFER"),
    )
    return PluginManager(core_version=VERSION, selection=selection, on_load=_hide_from_tracebacks)


def _hide_from_tracebacks(place: str) -> None:
    from rabbet.messages import source_positions

    source_positions.add_internal_root(place)
