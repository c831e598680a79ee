"""``rabbet devices``: what each installed backend can compute on."""

import rabbet
from rabbet.errors import PluginError
from rabbet.extend.commands import backend_registry, explain_error, print_table

from rabbet_cli import isolated_process

HELP = "list the devices of every installed backend"


def add_arguments(parser):
    pass


def run(args):
    rows, reasons, broken = [], [], False
    for platform, outcome in by_platform():
        if isinstance(outcome, list):
            rows += [(platform, str(one.id), one.device_kind, str(one.process_index)) for one in outcome]
        else:
            broken = broken or isinstance(outcome, Exception)
            reason = explain_error(outcome) if isinstance(outcome, Exception) else outcome
            reasons.append(f"{platform}: {reason}")
    print_table(("platform", "id", "kind", "process"), rows, empty="no devices")
    for reason in reasons:
        print(f"\n{reason}")
    return 1 if broken or not rows else 0


def by_platform():
    """``(platform, outcome)`` for each installed backend.

    The outcome is the list of its devices; or, as text, why this machine cannot have any (no such
    hardware: nothing is broken); or the exception that kept us from them. A native library that ends the
    process does so in one of its own.
    """
    registry = backend_registry()
    for platform in registry.allowed():
        try:
            backend = registry.get(platform)
            obstacle = isolated_process.obstacle_of(backend)
            fatal = isolated_process.trouble(backend, "start") if obstacle is None else None
            if fatal is not None:
                raise PluginError(f"the {platform!r} backend cannot be used here: {fatal}")
            yield platform, obstacle or list(rabbet.devices(platform))
        except Exception as error:
            yield platform, error
