"""``rabbet doctor``: is this installation well, and where not, why exactly.

Unlike `rabbet plugins` it imports everything that the settings allow, asks every backend for its
devices and every hook plugin for its own checks. Lines are printed as they are found, so that a
backend which takes the process down with it is the last thing on the screen.
"""

import difflib
import os
import platform
import sys
from importlib import metadata
from typing import NamedTuple

from rabbet.config import config
from rabbet.errors import ConfigError
from rabbet.plugins import discovery, selection
from rabbet.plugins.cli import cache, devices, trial
from rabbet.plugins.hooks import default_hooks
from rabbet.plugins.manager import default_manager
from rabbet.plugins.records import cause, last_frames

HELP = "check the installation and show the real cause of every failure"


class Check(NamedTuple):
    """One line of the report: ``ok`` is True, False, or None for plain information."""

    label: str
    ok: bool | None
    detail: str


def add_arguments(parser):
    parser.add_argument("--quiet", action="store_true", help="print only what is broken")


def run(args):
    manager = default_manager()
    broken = 0
    for check in checks(manager, default_hooks()):
        broken += check.ok is False
        if check.ok is False or not args.quiet:
            print(line(check), flush=True)
    if broken or not args.quiet:
        print(f"\n{broken} broken" if broken else "\nall is well")
    return 1 if broken else 0


def line(check):
    """One check as text, its further lines indented below it."""
    mark = {True: "ok    ", False: "BROKEN", None: "      "}[check.ok]
    return f"{mark}  {check.label}: {check.detail}".replace("\n", "\n          ")


def checks(manager, hooks):
    """All checks, in the order in which they are worth reading; devices come late because they load
    native code.
    """
    yield from versions()
    yield from settings(manager)
    yield from plugins(manager)
    yield from compilation_cache()
    yield from backends()
    for plugin, answers in hooks.collect("doctor_checks"):
        for label, ok, detail in answers:
            yield Check(f"{plugin}: {label}", bool(ok), str(detail))


def versions():
    """Python, core and what core stands on."""
    yield Check("python", None, f"{platform.python_version()} ({sys.executable}), {platform.platform()}")
    for name in (discovery.CORE_DISTRIBUTION, "jaxlib", "numpy", "ml_dtypes"):
        try:
            yield Check(name, True, metadata.version(name))
        except metadata.PackageNotFoundError:
            # Core may run from a source folder; for the others this is the cause of everything that follows.
            missing_core = name == discovery.CORE_DISTRIBUTION
            yield Check(name, None if missing_core else False, "not installed as a package")


def settings(manager):
    """The RABBET_ variables that are set, and names in them that match no installed package."""
    for name, value in sorted(os.environ.items()):
        if name.startswith("RABBET_"):
            yield Check(name, None, f"{value}{unknown_variable(name)}")
    known = {name for record in manager.records() for name in record.called}
    for name in sorted(manager.selection.names - known):
        yield Check("settings", False, f"a RABBET_ setting names {name!r}; no installed plugin is called so")


def unknown_variable(name):
    """What to say after the value of a variable that sets nothing; "" for one that does."""
    if name in selection.VARIABLES:
        return ""
    try:
        getattr(config, name.removeprefix("RABBET_").lower())
    except AttributeError:
        settings = [setting.variable for setting in config.settings.values()]
        near = difflib.get_close_matches(name, [*settings, *selection.VARIABLES], n=1, cutoff=0.65)
        return f" (no setting has this name{f'; did you mean {near[0]}?' if near else ''})"
    except ConfigError:
        pass  # a setting, with a value that it cannot have: whoever reads it says so
    return ""


def plugins(manager):
    """Every entry point, imported now."""
    for record in manager.load_all():
        label = f"{record.group.removeprefix('rabbet.')}.{record.name}"
        if record.broken:
            yield Check(label, False, "\n".join([record.title, *explanation(record)]))
        else:
            quiet = record.status in ("disabled", "passed over")
            yield Check(label, None if quiet else True, f"{record.title}, {record.status}")


def explanation(record):
    """Why a record is broken: the error as the plugin raised it, and the last lines that led there."""
    if record.status != "failed":
        return str(record.error).split("\n")
    return [cause(record.error), *(f"  at {frame}" for frame in last_frames(record.error))]


def compilation_cache():
    """The folder of compiled programs: where, how full, and whether it can be used."""
    from rabbet.runtime.cache import default_cache

    folder = default_cache()
    if folder is None:
        yield Check("cache", None, "switched off")
        return
    facts = dict(cache.facts(folder))
    detail = ", ".join(f"{name} {value}" for name, value in facts.items())
    yield Check("cache", "not used" not in facts, detail)


def backends():
    """Every backend's devices, and what the backend itself has to say.

    A backend whose hardware or library is not here is no fault of the installation, unless
    RABBET_PLATFORMS asks for it.
    """
    from rabbet.config import config

    try:
        outcomes = list(devices.by_platform())
    except Exception as error:  # RABBET_PLATFORMS names one that is not installed
        yield Check("devices", False, str(error))
        return
    for name, outcome in outcomes:
        label, absent = f"devices of {name}", isinstance(outcome, str)
        wanted = config.platforms is not None
        if isinstance(outcome, Exception):
            yield Check(label, False, "\n".join([cause(outcome), *_chain(outcome)]))
            if not _loads(name):  # it has no words of its own
                continue
        elif absent:
            yield Check(label, False if wanted else None, f"none on this machine: {outcome}")
        else:
            yield Check(label, True, ", ".join(map(_described, outcome)) or "none")
        for check in _own_words(name):
            yield check._replace(ok=None) if absent and not wanted else check


def _described(device):
    """A device with what the hardware calls itself and its memory, where it says so: cuda:0 (NVIDIA H100,
    79 GiB).
    """
    limit = (device.memory_stats() or {}).get("bytes_limit")
    facts = [device.device_kind] if device.device_kind != device.platform else []
    facts += [f"{limit / 2**30:.0f} GiB"] if limit else []
    return f"{device} ({', '.join(facts)})" if facts else str(device)


def _loads(platform):
    from rabbet.runtime.backends import default_registry

    try:
        return default_registry().get(platform) is not None
    except Exception:
        return False


def _own_words(platform):
    from rabbet.runtime.backends import default_registry

    try:
        backend = default_registry().get(platform)
        yield from (Check(*answer) for answer in (backend.doctor() if backend.doctor is not None else ()))
        if backend.obstacle() is not None and trial.can_try(backend):
            fatal = trial.trouble(backend, "load")
            yield Check(f"{platform} loading", fatal is None, fatal or "its library loads")
    except Exception as error:
        yield Check(platform, False, cause(error))


def _chain(error):
    while error.__cause__ is not None:
        error = error.__cause__
        yield f"caused by {cause(error)}"
