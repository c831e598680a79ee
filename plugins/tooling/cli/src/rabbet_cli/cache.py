"""``rabbet cache``: the folder of compiled programs on disk."""

from rabbet.extend.commands import compilation_cache, print_table

HELP = "show, clear or locate the persistent compilation cache"


def add_arguments(parser):
    parser.add_argument(
        "action", nargs="?", default="info", choices=["info", "clear", "path"],
        help="info (default): entries and size; clear: delete all entries; path: print the folder",
    )  # fmt: skip


def run(args):
    cache = compilation_cache()
    if cache is None:
        print("the cache is switched off (RABBET_CACHE=0, or there is no home folder)")
        return 1
    return {"info": show, "clear": clear, "path": path}[args.action](cache)


def show(cache):
    print_table(("what", "value"), facts(cache))


def clear(cache):
    count = cache.clear()
    print(f"removed {count} compiled program{'s' * (count != 1)} from {cache.folder}")


def path(cache):
    print(cache.folder)


def facts(cache):
    """What there is to know about the folder, as pairs of text."""
    info = cache.info()
    yield "folder", str(info.folder)
    yield "programs", str(info.entries)
    yield "size", f"{megabytes(info.bytes)} of at most {megabytes(info.max_bytes)}"
    if info.reason is not None:
        yield "not used", info.reason


def megabytes(count):
    return f"{count / 2**20:,.1f} MiB"
