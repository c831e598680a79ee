"""``rabbet check PATH``: what a project written for JAX uses of it, and what becomes of that on Rabbet."""

import json
import os
import pathlib
import sys

from rabbet.extend.commands import print_table

from rabbet_jax import reading_projects
from rabbet_jax.reading_projects import ABSENT, DIFFERS, GUARDED, HERE, PRIVATE, SERVED

HELP = "read a project written for JAX: which of the names that it uses are here"
ORDER = (ABSENT, GUARDED, PRIVATE, SERVED, DIFFERS, HERE)


def add_arguments(parser):
    parser.add_argument(
        "path", type=pathlib.Path, help="a file or a folder; nothing in it is run or imported"
    )
    parser.add_argument("--json", action="store_true", help="for other programs")
    parser.add_argument("--all", action="store_true", help="also list the names that are simply here")
    parser.add_argument("--rewrite", action="store_true", help="show how imports would change (needs libcst)")
    parser.add_argument("--apply", action="store_true", help="with --rewrite: change the files")


def run(args):
    """0 where every name is here, served or differs; 1 where one is absent; 2 where nothing can be read."""
    if not os.path.exists(args.path):
        print(f"rabbet check: there is no {args.path}", file=sys.stderr)
        return 2
    if not args.path.is_file() and not args.path.is_dir():
        print(f"rabbet check: {args.path} is neither a file nor a folder", file=sys.stderr)
        return 2
    if args.apply and not args.rewrite:
        print("rabbet check: --apply changes files with --rewrite only", file=sys.stderr)
        return 2
    if args.rewrite:
        if args.all:
            print("rabbet check: --all lists names; --rewrite shows all changes", file=sys.stderr)
            return 2
        return rewrite(args.path, args.apply, args.json)
    uses, libraries, unread = reading_projects.read(args.path)
    found = reading_projects.look_up_all(uses)
    rows = sorted(found.items(), key=lambda item: (ORDER.index(item[1][0].state), item[0]))
    if args.json:
        print(json.dumps(as_data(rows, libraries, unread), indent=1))
    else:
        show(rows, libraries, unread, args.all)
    if not uses and unread:
        return 2
    return int(any(state.state == ABSENT for state, _ in found.values()))


def as_data(rows, libraries, unread):
    """The answer as what JSON can hold."""
    names = [
        {
            "name": name,
            "state": state.state,
            "where": state.where,
            "uses": [f"{u.path}:{u.line}" for u in uses],
        }
        for name, (state, uses) in rows
    ]
    return {"names": names, "libraries": sorted(libraries), "unread": unread}


def show(rows, libraries, unread, everything):
    """The answer as a line, a table, and what it leaves open."""
    counts = {state: sum(s.state == state for _, (s, _) in rows) for state in ORDER}
    said = ", ".join([f"{n} {state}" for state, n in counts.items() if n])
    print(f"{len(rows)} names of JAX: {said}" if rows else "no name of JAX is used here")
    shown = [
        (
            name,
            state.state,
            f"{uses[0].path}:{uses[0].line}" + (f" and {len(uses) - 1} more" if uses[1:] else ""),
            state.where,
        )
        for name, (state, uses) in rows
        if everything or state.state != HERE
    ]
    if shown:
        print_table(("name", "state", "first used", "on Rabbet"), shown)
    for name in sorted(libraries):
        print(f"library {name}: runs through rabbet_jax as far as docs/jax_libraries.md says")
    for line in unread:
        print(f"not read: {line}", file=sys.stderr)


def rewrite(path, apply, as_json):
    """Show the changes, or make them: 0 where nothing is left to do by hand, else 1; 2 where nothing could be
    read or written.
    """
    try:
        from rabbet_jax.rewriting import changes, rewritten

        rewritten("")
    except ModuleNotFoundError as error:
        print(
            f"rabbet check --rewrite needs {error.name}: python -m pip install {error.name}",
            file=sys.stderr,
        )
        return 2
    made, unread = changes(path)
    changed = [one for one in made if one.after != one.before]
    refused = [fault for one in changed if (fault := write(one))] if apply else []
    left = sum(len(one.left) for one in made)
    if as_json:
        files = [{"path": str(one.path), "diff": one.difference(), "left": one.left} for one in made]
        rest = {"unread": unread, "refused": refused, "applied": apply and not refused}
        print(json.dumps({"files": files, **rest}, indent=1))
    else:
        for one in made:
            if not apply:
                print(one.difference(), end="")
            for line in one.left:
                print(f"left: {one.path}: {line}", file=sys.stderr)
        for line in [*unread, *refused]:
            print(f"not {'written' if line in refused else 'read'}: {line}", file=sys.stderr)
        done = "changed" if apply else "would change; --apply changes them"
        print(f"{len(changed) - len(refused)} files {done}; {left} names are left to you")
    if refused or (unread and not made):
        return 2
    return int(bool(left or unread))


def write(change):
    """Write a changed file; what is wrong, or None."""
    try:
        change.path.write_bytes(change.after)
    except OSError as error:
        return f"{change.path}: {error.strerror}"
    return None
