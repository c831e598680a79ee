"""The ``rabbet`` command: what is installed, and whether it works.

One module per subcommand, each with ``HELP``, ``add_arguments(parser)`` and ``run(args) -> exit status``; a
package adds one by an entry point in the group ``rabbet.commands``. With `rich` installed
(``pip install rabbet-cli[rich]``) a terminal shows its tables with lines and colours.
"""

import argparse
import contextlib
import signal
import sys

import rabbet
from rabbet.errors import PluginError, RabbetError
from rabbet.extend.commands import plugin_manager, provider_of

from rabbet_cli import doctor, plugins

GROUP = "rabbet.commands"
COMMANDS = {"plugins": plugins, "doctor": doctor}


def main(argv=None) -> int:
    """Run the command line ``argv`` (without the program's name; default: the process's own).

    Returns the exit status: 0 when all is well, 1 when something is broken, 2 for a wrong command line.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    # These two look at installations that are broken: they ask no package for its command.
    known = COMMANDS if argv and argv[0] in COMMANDS else {**COMMANDS, **of_packages()}
    for record in plugin_manager().records(GROUP) if argv and argv[0] not in known else ():
        if record.name == argv[0] and record.broken:
            print(
                f"rabbet {argv[0]} comes from {record.title}, which cannot be used\n  "
                f"{record.cause or record.error}\n"
                "  the whole story: rabbet doctor",
                file=sys.stderr,
            )
            return 1
    missing = provider_of(GROUP, argv[0]) if argv and argv[0] not in known else None
    if missing is not None:
        print(
            f"rabbet {argv[0]}: this command is {missing}'s, which is not installed\n"
            f"  to fix: python -m pip install {missing}",
            file=sys.stderr,
        )
        return 2
    parser = _parser(known)
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    try:
        return known[args.command].run(args) or 0
    except RabbetError as error:
        print(f"rabbet {args.command}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `rabbet plugins | head`
        sys.stderr.close()
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        print(f"rabbet {args.command}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"rabbet {args.command}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


def of_packages():
    """The commands that installed packages bring, by name; a broken one is left out (``rabbet doctor`` shows
    it).
    """
    found = {}
    with contextlib.suppress(RabbetError):  # a setting that cannot be read
        for name in plugin_manager().names(GROUP):
            with contextlib.suppress(PluginError):
                found[name] = plugin_manager().get(GROUP, name)
    return found


def _parser(known):
    parser = argparse.ArgumentParser(prog="rabbet", description="Look after an installation of Rabbet.")
    parser.add_argument("--version", action="version", version=f"rabbet {rabbet.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, module in known.items():
        command = commands.add_parser(name, help=module.HELP, description=_sentence(module.HELP))
        module.add_arguments(command)
    return parser


def _sentence(help_text):
    return help_text[0].upper() + help_text[1:] + "."
