"""``rabbet cache``: the folder of compiled programs on disk."""

from rabbet.plugins.cli import output

HELP = "show, clear or locate the persistent compilation cache"


def add_arguments(parser):
    parser.add_argument(
        "action", nargs="?", default="info", choices=["info", "clear", "path"],
        help="info (default): entries and size; clear: delete all entries; path: print the folder",
    )  # fmt: skip


def run(args):
    return {"info": show, "clear": clear, "path": path}[args.action]()


def facts():
    """What the cache says about itself, as ``(name, value)`` pairs of text."""
    from rabbet.runtime import cache

    return [(name, str(value)) for name, value in cache.info().items()]


def show():
    output.table(("what", "value"), facts())


def clear():
    from rabbet.runtime import cache

    before = cache.info()
    cache.clear()
    print(f"cleared {before['folder']}")


def path():
    from rabbet.runtime import cache

    print(cache.info()["folder"])
