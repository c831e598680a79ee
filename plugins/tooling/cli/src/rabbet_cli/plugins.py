"""``rabbet plugins``: every entry point that is installed, without importing any."""

from rabbet.extend.commands import entry_point_groups, plugin_manager, print_table

HELP = "list the installed plugins, without importing them"


def add_arguments(parser):
    groups = [group.removeprefix("rabbet.") for group in entry_point_groups()]
    parser.add_argument("group", nargs="?", choices=groups, help="only this group")


def run(args):
    group = args.group and f"rabbet.{args.group}"
    records = plugin_manager().records(group)
    rows = [(r.group.removeprefix("rabbet."), r.name, r.package, r.version, r.status) for r in records]
    print_table(("group", "name", "package", "version", "status"), rows, empty="no plugins are installed")
    for record in records:
        if record.status in ("disabled", "conflict"):
            print(f"\n{record.package}: {record.error}")
    return 0
