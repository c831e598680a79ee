"""``rabbet passes``: the jaxpr -> jaxpr passes in the order in which they run, and which of them are on.

``rabbet passes --profile script.py`` runs a script and shows what each pass did to its programs.
"""

import argparse
import os
import runpy
import sys
import traceback

from rabbet.errors import RabbetError
from rabbet.extend.commands import plugin_manager, print_table
from rabbet.extend.passes import all_passes, is_on, unknown_names

from rabbet_cli.pass_profile import profiled

HELP = "list the passes between tracing and lowering"


def add_arguments(parser):
    parser.add_argument(
        "--profile",
        metavar="SCRIPT",
        nargs=argparse.REMAINDER,
        help="run a script with its arguments, show what each pass did and how long it took",
    )


def run(args):
    if args.profile == []:
        raise RabbetError("--profile needs a script: rabbet passes --profile script.py")
    if args.profile:
        return profile(*args.profile)
    rows = [
        (one.name, "on" if is_on(one) else "off", ", ".join(one.platforms or ["all"]), one.doc)
        for one in all_passes()
    ]
    print_table(("pass", "state", "platforms", "what it does"), rows, empty="no passes")
    for setting, name in unknown_names():
        print(f"\nRABBET_{setting.upper()} names {name!r}, and no pass is called so")
    for record in plugin_manager().records("rabbet.passes"):
        if record.broken:
            print(f"\n{record.title}: {record.error}")
    return 0


def profile(script, *arguments):
    """Run ``script`` as if by ``python script arguments...``, then show the table, also if it failed."""
    if not os.path.exists(script):
        raise RabbetError(f"--profile: there is no script {script!r} in {os.getcwd()}")
    failed = False
    argv, sys.argv = sys.argv, [script, *arguments]
    try:
        with profiled() as totals:
            runpy.run_path(script, run_name="__main__")
    except Exception as error:
        failed = True
        traceback.print_exception(error.with_traceback(own_frames(error.__traceback__, script)))
    finally:
        sys.argv = argv
        rows = [(name, t.programs, t.before, t.after, f"{1e3 * t.seconds:.1f}") for name, t in totals.items()]
        headers = ("pass", "programs", "equations before", "after", "milliseconds")
        print_table(headers, rows, empty="nothing was compiled")
    return int(failed)


def own_frames(frames, script):
    """A traceback from the script's first line on; all of it where none is the script's."""
    inner = frames
    while inner is not None and inner.tb_frame.f_code.co_filename != script:
        inner = inner.tb_next
    return inner or frames
