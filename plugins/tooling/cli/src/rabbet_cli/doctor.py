"""``rabbet doctor``: is this installation well, and where not, why exactly.

Unlike `rabbet plugins` it imports everything that the settings allow, and asks for devices and every hook
plugin for its own checks. Lines are printed as they are found, so that a backend which takes the process
down with it is the last thing on the screen.

A check is a generator of ``(label, ok, detail)`` that is given the plugin manager. Those of versions and
plugins stand here; `checks.py` and packages bring further ones by entry points in the group
``rabbet.checks``.
"""

import contextlib
import json
import platform
import sys
import warnings
from importlib import metadata
from typing import NamedTuple

from rabbet.errors import PluginError, PluginWarning
from rabbet.extend.commands import explain_error, plugin_hooks, plugin_manager, put_to_use

from rabbet_cli.checks import settings

HELP = "check the installation and show the real cause of every failure"
GROUP = "rabbet.checks"
CORE = "rabbet-core"
LAST = "devices"  # their libraries are native code


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
    manager = plugin_manager()
    found, broken = [], 0
    for check in checks(manager, plugin_hooks(), verbose=args.verbose or args.json):
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
    """All checks, in the order in which they are worth reading; devices come last because they load
    native code. Unless ``verbose``, plugins that are well share one line a group.
    """
    yield from versions(manager)
    yield from plugins(manager) if verbose else collapsed(plugins(manager))
    for name, check in of_packages(manager).items():
        yield from answered(
            f"checks.{name}", titles(manager, GROUP, name), lambda check=check: check(manager)
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)  # what it says is a line of the report
        found = hooks.collect("doctor_checks")
    for plugin, answers in found:
        whose = titles(manager, "rabbet.hooks", plugin)
        for check in answered(f"hooks.{plugin}", whose, lambda answers=answers: answers):
            yield (
                check
                if check.label == f"hooks.{plugin}"
                else check._replace(label=f"{plugin}: {check.label}")
            )
    for plugin, what in hooks.failures:
        if not any(record.broken for record in manager.records("rabbet.hooks", plugin)):
            yield Check(f"hooks.{plugin}", False, f"{titles(manager, 'rabbet.hooks', plugin)}\n{what}")


def titles(manager, group, name):
    """The packages behind a name, for messages; core where there is none."""
    return ", ".join([one.title for one in manager.records(group, name)]) or CORE


def answered(label, whose, ask):
    """The checks among what a package answers, each a triple; its mistake is a check that is not well.

    Args:
      label: what to call a mistake.
      whose: the package.
      ask: returns the answers.
    """
    wrong = None
    try:
        answers = ask()
        if isinstance(answers, (str, bytes)):
            wrong = answers
        else:
            for answer in answers:
                if not is_check(answer):
                    wrong = answer
                    break
                yield Check(answer[0], None if answer[1] is None else bool(answer[1]), str(answer[2]))
    except (Exception, SystemExit) as error:
        yield Check(label, False, f"{whose}\n{explain_error(error)}")
    if wrong is not None:
        yield Check(
            label, False,
            f"{whose}\nit answered {wrong!r:.80}, which is not a check\n  to fix: return a list of triples "
            "(label, ok, detail): two strings and a bool between them, or None for plain information",
        )  # fmt: skip


def is_check(answer):
    """Whether it is ``(label, ok, detail)``."""
    return (
        isinstance(answer, (tuple, list))
        and len(answer) == 3
        and isinstance(answer[0], str)
        and (answer[1] is None or isinstance(answer[1], (bool, int)) or type(answer[1]).__name__ == "bool_")
    )


def of_packages(manager):
    """The checks that packages bring, by name, the devices last. A broken one is left out: the line of its
    plugin says why. That of settings is there also where a setting switches all packages off: it names it.
    """
    found = {"settings": settings}
    for name in sorted(manager.names(GROUP), key=LAST.__eq__):
        with contextlib.suppress(PluginError):
            found[name] = manager.get(GROUP, name)
    return found


def versions(manager):
    """Python, core and what core stands on."""
    yield Check("python", None, f"{platform.python_version()} ({sys.executable}), {platform.platform()}")
    for name in (CORE, "jaxlib", "numpy", "ml_dtypes"):
        try:
            yield Check(name, True, metadata.version(name))
        except metadata.PackageNotFoundError:
            # Core may run from a source folder; for the others this is the cause of everything that follows.
            missing_core = name == CORE
            yield Check(name, None if missing_core else False, "not installed as a package")


def plugins(manager):
    """Every entry point, imported now and put where it belongs."""
    manager.load_all()
    if manager is plugin_manager():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PluginWarning)  # each is a line of the report
            yield from answered("plugins", CORE, put_to_use)
    for record in manager.records():
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
    return [record.cause, *(f"  at {frame}" for frame in record.frames)]


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
