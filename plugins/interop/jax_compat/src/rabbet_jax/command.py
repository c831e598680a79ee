"""``rabbet run-jax program.py [arguments]``: a program written for JAX, on Rabbet."""

import argparse
import os
import runpy
import sys
import traceback

from rabbet.extend.commands import missing_program

import rabbet_jax

RUNPY = runpy.run_path.__code__.co_filename
HELP = "run a program written for JAX on Rabbet"


def add_arguments(parser):
    """Describe the command line, of ``rabbet run-jax`` and of ``python -m rabbet_jax`` alike."""
    parser.add_argument("-m", "--module", action="store_true", help="PROGRAM is the name of a module")
    parser.add_argument(
        "--children", action="store_true",
        help=f"serve jax in the Python processes that the program starts, too ({rabbet_jax.CHILDREN}=1)",
    )  # fmt: skip
    parser.add_argument(
        "--report", action="store_true",
        help="say at the end which names of jax the program read that are not there",
    )  # fmt: skip
    parser.add_argument("program", metavar="PROGRAM", help="a file, or with -m a module")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="what the program finds in sys.argv"
    )


def serve(args):
    """Run the program as ``__main__``."""
    rabbet_jax.install(children=args.children)
    sys.argv = [args.program, *args.arguments]
    try:
        if args.module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(args.program, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(args.program)))
            runpy.run_path(args.program, run_name="__main__")
    finally:
        if args.report:
            for name, why in rabbet_jax.report():
                print(f"{name}: {why}", file=sys.stderr)


def run(args):
    """The command ``rabbet run-jax``: the program's errors are shown as Python shows them."""
    fault = missing_program(args.program, args.module)
    if fault:
        print(f"rabbet run-jax: {fault}", file=sys.stderr)
        return 2
    try:
        serve(args)
    except Exception as error:
        traceback.print_exception(error.with_traceback(_of_program(error.__traceback__)))
        return 1
    return 0


def _of_program(trace):
    """A traceback from the program's first frame on: without this module's and those of ``runpy``."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, RUNPY):
        trace = trace.tb_next
    return trace


def main():
    """``python -m rabbet_jax``."""
    parser = argparse.ArgumentParser(prog="python -m rabbet_jax", description=HELP)
    add_arguments(parser)
    args = parser.parse_args()
    fault = missing_program(args.program, args.module)
    if fault:
        parser.exit(2, f"python -m rabbet_jax: {fault}\n")
    serve(args)
