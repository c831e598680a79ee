"""``rabbet doctor``: is this installation well, and where not, why exactly.

Unlike `rabbet plugins` it imports everything that the settings allow, asks every backend for its
devices and every hook plugin for its own checks. Lines are printed as they are found, so that a
backend which takes the process down with it is the last thing on the screen.
"""

import difflib
import json
import os
import platform
import sys
from importlib import metadata
from typing import NamedTuple

from rabbet.cli import cache, devices, trial
from rabbet.config import config
from rabbet.errors import ConfigError
from rabbet.plugins import api, discovery, selection
from rabbet.plugins.hooks import default_hooks
from rabbet.plugins.manager import default_manager
from rabbet.plugins.records import cause

HELP = "check the installation and show the real cause of every failure"


class Check(NamedTuple):
    """One line of the report: ``ok`` is True, False, or None for plain information."""

    label: str
    ok: bool | None
    detail: str


def add_arguments(parser):
    parser.add_argument("--quiet", action="store_true", help="print only what is broken")
    parser.add_argument(
        "--verbose", action="store_true", help="a line for every plugin, also where all is well"
    )
    parser.add_argument("--json", action="store_true", help="print the checks as JSON, for other programs")


def run(args):
    manager = default_manager()
    found, broken = [], 0
    for check in checks(manager, default_hooks(), verbose=args.verbose or args.json):
        broken += check.ok is False
        found.append(check)
        if not args.json and (check.ok is False or not args.quiet):
            print(line(check), flush=True)
    if args.json:
        print(json.dumps({"broken": broken, "checks": [check._asdict() for check in found]}, indent=2))
    elif broken or not args.quiet:
        print(f"\n{broken} broken" if broken else "\nall is well")
    return 1 if broken else 0


def line(check):
    """One check as text, its further lines indented below it."""
    mark = {True: "ok    ", False: "BROKEN", None: "      "}[check.ok]
    return f"{mark}  {check.label}: {check.detail}".replace("\n", "\n          ")


def checks(manager, hooks, verbose=True):
    """All checks, in the order in which they are worth reading; devices come late because they load
    native code. Unless ``verbose``, plugins that are well share one line a group.
    """
    yield from versions()
    yield from settings(manager)
    yield from plugins(manager) if verbose else collapsed(plugins(manager))
    yield from unreachable(manager)
    yield from unknown_groups()
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


def collapsed(checks):
    """Checks of plugins with those that are well in one line a group, in front of the others of the group."""
    groups: dict[str, list] = {}
    for check in checks:
        groups.setdefault(check.label.partition(".")[0], []).append(check)
    for group, found in groups.items():
        well = [check for check in found if check.ok]
        packages = {check.detail.split()[0] for check in well}
        if well:
            count = f"{len(well)} name{'s' if len(well) > 1 else ''}"
            yield Check(group, True, f"{count} from {', '.join(sorted(packages))}")
        yield from [check for check in found if not check.ok]


def unreachable(manager):
    """Public names that core has itself, so that a plugin's is never looked up."""
    import rabbet

    for record in manager.records("rabbet.api"):
        if record.name in rabbet._own or api.is_core_module(record.name):
            detail = f"{record.title} offers rb.{record.name}, which core has itself: it is never used"
            yield Check(f"api.{record.name}", False, f"{detail}\n  to fix: give the entry point another name")


def unknown_groups():
    """Entry-point groups of installed packages that look like Rabbet's and are none."""
    read = discovery.GROUPS.keys() | discovery.announced()
    for distribution in metadata.distributions():
        for point in distribution.entry_points:
            if point.group in read or not point.group.lower().startswith(("rabbet.", "rabbet_")):
                continue
            near = difflib.get_close_matches(point.group, discovery.GROUPS, n=1, cutoff=0.5)
            known = f"did you mean {near[0]}?" if near else f"the groups are {', '.join(discovery.GROUPS)}"
            detail = (
                f"{distribution.name} has an entry point {point.name!r} in a group that nobody reads: {known}"
            )
            yield Check(point.group, False, detail)


def explanation(record):
    """Why a record is broken: the error as the plugin raised it, and the last lines that led there."""
    if record.status != "failed":
        return str(record.error).split("\n")
    return [record.cause, *(f"  at {frame}" for frame in record.frames)]


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
