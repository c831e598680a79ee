"""Writes docs/libraries: for each library written for JAX a page of what works, what differs, what is absent.

    python tools/write/library_pages.py            # writes the pages
    python tools/write/library_pages.py --check    # fails if a page is not what would be written
    python tools/write/library_pages.py --absent   # first imports all modules of libraries on Rabbet, notes
                                             # which names they read that are not there

What works, and which cases fail, follows from the libraries' own tests (`tests/ecosystem/suites.json`, by
tools/check/library_suites.py); the names that are absent are those of `tests/ecosystem/absent.json`. What is
said by hand stands in `tests/ecosystem/libraries.toml`.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDS, PAGES = ROOT / "tests" / "ecosystem", ROOT / "docs" / "libraries"
ABSENT = RECORDS / "absent.json"
# Parts of the names of modules that are tests, or that need what is no part of the library.
LEFT_OUT = ("test", "tests", "testing", "examples", "contrib")
SHOWN = 170  # characters of a message


def read(name):
    path = RECORDS / name
    return tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())


def imported(module):
    """In a process of its own: import all modules of a library on Rabbet; print what is absent, as JSON."""
    import pkgutil
    import warnings

    import rabbet_jax

    warnings.simplefilter("ignore")
    rabbet_jax.install()
    root = importlib.import_module(module)
    count, refused = 1, {}
    for found in pkgutil.walk_packages(root.__path__, f"{module}.", onerror=lambda name: None):
        parts = found.name.split(".")
        if any(part in LEFT_OUT or part.endswith("_test") or part.startswith("test_") for part in parts):
            continue
        try:
            importlib.import_module(found.name)
            count += 1
        except Exception as error:  # whatever a module says when what it needs is not installed
            # Without the place of a file on this machine.
            refused[found.name] = str(error).partition("\n")[0].partition(" (/")[0]
    names = sorted({name for name, _ in rabbet_jax.report()})
    # `a.b` says that it is not there; that `a.b.c` is not either follows.
    names = [name for name in names if not any(name.startswith(f"{other}.") for other in names)]
    print(json.dumps({"modules": count, "refused": refused, "names": names}))


def look_for_absent(libraries, only):
    """What the libraries that are installed read and Rabbet lacks."""
    found = read("absent.json") if ABSENT.exists() else {}
    for name, library in libraries.items():
        if only and name not in only:
            continue
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed", flush=True)
            continue
        command = [sys.executable, __file__, "--imported", name]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        row = json.loads(ran.stdout.splitlines()[-1])
        found[name] = {"release": importlib.metadata.version(library["distribution"]), **row}
        print(f"{name}: {len(row['names'])} names absent", flush=True)
        ABSENT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def works(library, row, known):
    """The lines of what works."""
    if row:
        wanted, passed = row["under jax"], row["on rabbet"]
        share = f"{100 * passed / wanted:.1f}%"
        ours = row["what"] == "cases of ours"
        suite = "Cases written here from its documentation" if ours else f"Its own tests ({row['what']})"
        yield f"{suite}: **{passed} of the {wanted} cases that pass under JAX pass on Rabbet** ({share})."
        if clean := row["files on rabbet only"]:
            yield (
                f"In {len(clean)} more files, run on Rabbet alone, nothing fails: "
                f"{row['passed on rabbet only']} cases pass."
            )
        if not ours and row["what"] != "all files":
            yield "The other files were not run; nothing is said of them."
        yield ""
    if programs := library.get("programs"):
        said = " and ".join(f"`tests/ecosystem/programs/{program}.py`" for program in programs)
        many = len(programs) > 1
        yield f"- {said} {'print' if many else 'prints'} the same under both: {library['tried']}."
    if known:
        yield f"- {known['modules']} modules of it can be imported."
        for module, why in known["refused"].items():
            yield f"- `{module}` is not among them: {why}"
    yield ""


def failing(row):
    """A table of the cases that pass under JAX alone."""
    missing = row["under jax"] - row["on rabbet"] - len(row.get("fails", {}))
    if row.get("fails"):
        yield from ("Cases that pass under JAX and not here:", "", "| case | what it says |", "|---|---|")
        for case, why in sorted(row["fails"].items()):
            said = " ".join(why.replace("|", "/").replace("`", "'").split())
            yield f"| `{case}` | {f'`{said[:SHOWN]}`' if said else 'nothing: the process ended'} |"
        yield ""
    if missing:
        fail = "fails" if missing == 1 else "fail"
        yield f"{missing} more of the cases {fail}; an earlier run counted them and did not keep their names."
        yield ""


def page(name, library, row, known):
    """The text of a library's page."""
    release = (row or known)["release"]
    lines = [
        f"# {library['title']}",
        "",
        f"{library['about'][0].upper()}{library['about'][1:]}.",
        f"Tried with the release {release} and JAX 0.12.",
        "How it is run: [JAX's libraries](../jax_libraries.md).",
        "",
        "## Works",
        "",
        *works(library, row, known),
        "## Differs",
        "",
        *(f"- {one}" for one in library.get("differs", ())),
        *([""] if library.get("differs") else []),
        *(failing(row) if row else ()),
    ]
    if not library.get("differs") and not (row and row["under jax"] > row["on rabbet"]):
        lines += ["Nothing that is known.", ""]
    lines += ["## Absent", ""]
    if known and known["names"]:
        lines += ["Its modules read these names, which are not there. Calling one says so.", ""]
        lines += [f"- `{one}`" for one in known["names"]]
    elif known:
        lines += ["Every name of JAX that its modules read when they are imported is there."]
    return "\n".join(lines) + "\n"


def pages():
    """Each page by the name of its library."""
    suites, absent = read("suites.json"), read("absent.json")
    return {
        name: page(name, library, suites.get(name), absent.get(name))
        for name, library in read("libraries.toml").items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--absent", action="store_true")
    parser.add_argument("libraries", nargs="*", help="with --absent: only these")
    parser.add_argument("--imported", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.imported:
        imported(args.imported)
        return
    if args.absent:
        look_for_absent(read("libraries.toml"), args.libraries)
    written = pages()
    there = {path.stem: path.read_text() for path in PAGES.glob("*.md")}
    if args.check:
        wrong = sorted(name for name in written.keys() | there.keys() if written.get(name) != there.get(name))
        sys.exit(f"run python tools/write/library_pages.py: {', '.join(wrong)}" if wrong else 0)
    PAGES.mkdir(exist_ok=True)
    for name in there.keys() - written.keys():
        (PAGES / f"{name}.md").unlink()
    for name, text in written.items():
        (PAGES / f"{name}.md").write_text(text)


if __name__ == "__main__":
    main()
