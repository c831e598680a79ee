"""``python -m rabbet_jax program.py [arguments]``, or ``-m module [arguments]``: run it on Rabbet."""

import os
import runpy
import sys

import rabbet_jax

USAGE = "usage: python -m rabbet_jax (PROGRAM.py | -m MODULE) [ARGUMENTS]"


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        sys.exit(0 if arguments else 2)
    rabbet_jax.install()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            sys.exit(USAGE)
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
