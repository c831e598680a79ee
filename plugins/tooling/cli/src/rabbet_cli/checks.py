"""What ``rabbet doctor`` looks at besides versions and plugins: settings, names, groups, the cache on disk,
and each backend with its devices.

Each check is a generator of ``(label, ok, detail)``, ``ok`` being None for plain information.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from rabbet import config
from rabbet.errors import ConfigError
from rabbet.extend.commands import (
    backend_registry,
    compilation_cache,
    entry_point_groups,
    explain_error,
    is_core_name,
    plugin_variables,
)  # fmt: skip

from rabbet_cli import cache, devices, isolated_process


def settings(manager: Any) -> Iterator[tuple[str, bool | None, str]]:
    """The RABBET_ variables that are set, and names in them that match no installed package."""
    for name, value in sorted(os.environ.items()):
        if name.startswith("RABBET_"):
            yield name, None, f"{value}{unknown_variable(name)}"
    known = {name for record in manager.records() for name in record.called}
    for name in sorted(manager.selection.names - known):
        yield "settings", False, f"a RABBET_ setting names {name!r}; no installed plugin is called so"


def unknown_variable(name):
    """What to say after the value of a variable that sets nothing; "" for one that does."""
    if name in plugin_variables():
        return ""
    try:
        getattr(config, name.removeprefix("RABBET_").lower())
    except AttributeError:
        settings = [setting.variable for setting in config.settings.values()]
        near = difflib.get_close_matches(name, [*settings, *plugin_variables()], n=1, cutoff=0.65)
        return f" (no setting has this name{f'; did you mean {near[0]}?' if near else ''})"
    except ConfigError:
        pass  # a setting, with a value that it cannot have: whoever reads it says so
    return ""


def names(manager: Any) -> Iterator[tuple[str, bool | None, str]]:
    """Public names that core has itself, so that a plugin's is never looked up."""
    for record in manager.records("rabbet.api"):
        if is_core_name(record.name):
            detail = f"{record.title} offers rb.{record.name}, which core has itself: it is never used"
            yield f"api.{record.name}", False, f"{detail}\n  to fix: give the entry point another name"


def groups(manager: Any) -> Iterator[tuple[str, bool | None, str]]:
    """Entry-point groups of installed packages that look like Rabbet's and are none."""
    read = entry_point_groups()
    for distribution in metadata.distributions():
        for point in distribution.entry_points:
            if point.group in read or not point.group.lower().startswith(("rabbet.", "rabbet_")):
                continue
            ends = {group.removeprefix("rabbet."): group for group in read}
            near = difflib.get_close_matches(point.group.lower()[len("rabbet.") :], ends, n=1, cutoff=0.6)
            known = f"did you mean {ends[near[0]]}?" if near else f"the groups are {', '.join(read)}"
            detail = (
                f"{distribution.name} has the entry point {point.name!r} in a group without a reader: {known}"
                "\n  what people call, such as a transformation, is an entry point in rabbet.api"
            )
            yield point.group, False, detail


def programs(manager: Any) -> Iterator[tuple[str, bool | None, str]]:
    """The folder of compiled programs: where, how full, and whether it can be used."""
    folder = compilation_cache()
    if folder is None:
        yield "cache", None, "switched off"
        return
    facts = dict(cache.facts(folder))
    detail = ", ".join(f"{name} {value}" for name, value in facts.items())
    yield "cache", "not used" not in facts, detail


def backends(manager: Any) -> Iterator[tuple[str, bool | None, str]]:
    """Every backend's devices, and what the backend itself has to say.

    A backend whose hardware or library is not here is no fault of the installation, unless
    RABBET_PLATFORMS asks for it.
    """
    try:
        outcomes = list(devices.by_platform())
    except Exception as error:  # RABBET_PLATFORMS names one that is not installed
        yield "devices", False, str(error)
        return
    for name, outcome in outcomes:
        label, absent = f"devices of {name}", isinstance(outcome, str)
        wanted = config.platforms is not None
        if isinstance(outcome, Exception):
            yield label, False, "\n".join([explain_error(outcome), *_chain(outcome)])
            if not _loads(name):  # it has no words of its own
                continue
        elif absent:
            yield label, False if wanted else None, f"none on this machine: {outcome}"
        else:
            yield label, True, ", ".join(map(_described, outcome)) or "none"
        for label, ok, detail in _own_words(name):
            yield label, None if absent and not wanted else ok, detail


def _described(device):
    """A device with what the hardware calls itself and its memory, where it says so: cuda:0 (NVIDIA H100,
    79 GiB).
    """
    limit = (device.memory_stats() or {}).get("bytes_limit")
    facts = [device.device_kind] if device.device_kind != device.platform else []
    facts += [f"{limit / 2**30:.0f} GiB"] if limit else []
    return f"{device} ({', '.join(facts)})" if facts else str(device)


def _loads(platform):
    try:
        return backend_registry().get(platform) is not None
    except Exception:
        return False


def _own_words(platform):
    try:
        backend = backend_registry().get(platform)
        yield from [(label, ok, detail) for label, ok, detail in backend.doctor()] if backend.doctor else ()
        if isolated_process.obstacle_of(backend) is not None and isolated_process.can_try(backend):
            fatal = isolated_process.trouble(backend, "load")
            yield f"{platform} loading", fatal is None, fatal or "its library loads"
    except Exception as error:
        yield platform, False, explain_error(error)


def _chain(error):
    while error.__cause__ is not None:
        error = error.__cause__
        yield f"caused by {explain_error(error)}"
