"""The ``rabbet`` command: what is installed, whether it works, and a start for a plugin of your own.

One module per subcommand, each with ``HELP``, ``add_arguments(parser)`` and ``run(args) -> exit status``.
The command needs nothing beyond core; with `rich` installed (``pip install rabbet-core[cli]``) a
terminal shows its tables with lines and colours.
"""

import argparse
import sys

import rabbet
from rabbet.errors import RabbetError
from rabbet.cli import cache, devices, doctor, explain, new_plugin, passes, plugins

COMMANDS = {
    "plugins": plugins,
    "devices": devices,
    "doctor": doctor,
    "passes": passes,
    "cache": cache,
    "explain": explain,
    "new-plugin": new_plugin,
}


def main(argv=None) -> int:
    """Run the command line ``argv`` (without the program's name; default: the process's own).

    Returns the exit status: 0 when all is well, 1 when something is broken, 2 for a wrong command line.
    """
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    try:
        return COMMANDS[args.command].run(args) or 0
    except RabbetError as error:
        print(f"rabbet {args.command}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `rabbet plugins | head`
        sys.stderr.close()
        return 1


def _parser():
    parser = argparse.ArgumentParser(prog="rabbet", description="Look after an installation of Rabbet.")
    parser.add_argument("--version", action="version", version=f"rabbet {rabbet.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=_sentence(module.HELP))
        module.add_arguments(command)
    return parser


def _sentence(help_text):
    return help_text[0].upper() + help_text[1:] + "."
