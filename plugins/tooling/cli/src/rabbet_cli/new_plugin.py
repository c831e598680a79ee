"""``rabbet new-plugin NAME``: a complete package that works as it is, to be changed step by step into yours.

The files come from ``templates/``: what every kind shares in ``common/``, the rest
in a folder for each kind. In paths and texts ``$package``, ``$distribution`` and ``$word`` stand
for the three forms of the name.
"""

import json
import keyword
import re
import sys
import tomllib
from importlib import resources
from pathlib import Path
from string import Template

import rabbet
from rabbet.extend.hooks import official_packages

HELP = "write a new plugin package: code, tests, README and pyproject.toml"

KINDS = {
    "transformation": "a way to run functions on something other than arrays",
    "primitive": "a new operation, understood by every transformation",
    "dtype": "a number format",
    "backend": "devices behind a PJRT plugin library",
    "pass": "a rewrite of programs between tracing and lowering",
    "rules": "rules for a transformation and primitives of other packages",
    "hooks": "something that watches compilations",
    "settings": "settings of rb.config",
    "command": "a command of rabbet",
    "kernel-target": "a writer of kernels for some hardware",
}


# Rabbet's own that offer users nothing by a name, or that are installed under another's (rabbet[tpu]).
NAMELESS = (
    "rabbet-testing", "rabbet-cli", "rabbet-passes", "rabbet-progress", "rabbet-ray", "rabbet-pjrt-cuda",
    "rabbet-pjrt-tpu", "rabbet-pallas-triton", "rabbet-pallas-tpu", "rabbet-kernels",
)  # fmt: skip


def add_arguments(parser):
    parser.add_argument("name", metavar="NAME", help="such as `enclose`, for the package rabbet-enclose")
    parser.add_argument("--kind", choices=KINDS, default="transformation", help="default: transformation")
    parser.add_argument(
        "--repository", action="store_true",
        help="also what a repository needs: tests of a matrix of versions, releases, documents, a badge",
    )
    parser.add_argument("--into", metavar="FOLDER", default=".", help="where to make the package's folder")


def run(args):
    try:
        folder = write(args.name, args.kind, Path(args.into), repository=args.repository)
    except (ValueError, OSError) as error:
        print(f"rabbet new-plugin: {error}", file=sys.stderr)
        return 1
    names = forms(args.name)
    print(f"wrote {folder}: {KINDS[args.kind]}")
    print(f"  try it:   python -m pip install -e '{folder}[test]' && python -m pytest {folder}")
    print(f"  its code: {folder / 'src' / names['package'] / '__init__.py'}")
    return 0


def write(name, kind, into, *, repository=False):
    """Write a package of ``kind`` and return its folder, ``into / distribution``; with ``repository`` also
    workflows, documents and a badge.

    Raises ValueError for a name that cannot be one, FileExistsError where the folder exists.
    """
    fields = {**forms(name), **about(kind)}
    folder = into / fields["distribution"]
    if folder.exists():
        raise FileExistsError(f"{folder} is there already: delete the folder, or choose another name")
    folder.mkdir(parents=True)
    more = templates("repository") if repository else ()
    for path, text in [*templates("common"), *templates(kind), *more]:
        target = folder / path.replace("PACKAGE", fields["package"])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(fill(text, fields), encoding="utf-8")
    return folder


def forms(name):
    """The name's forms: distribution ``rabbet-enclose``, package ``rabbet_enclose``, word ``enclose``."""
    word = re.sub(r"[-_.]+", "_", name).lower().removeprefix("rabbet_")
    if not word.isidentifier() or keyword.iskeyword(word) or not word.isascii():
        raise ValueError(f"{name!r} cannot be a plugin's name; wanted is a word such as `enclose`")
    distribution = f"rabbet-{word.replace('_', '-')}"
    if distribution in {*official_packages(), *NAMELESS}:
        raise ValueError(
            f"{distribution!r} is a package of Rabbet's own; choose another name, since two packages of one "
            "name cannot be installed together"
        )
    return {"word": word, "upper": word.upper(), "package": f"rabbet_{word}", "distribution": distribution}


def about(kind):
    """What ``kind.toml`` says: summary, usage for the README, requirements, those of tests, entry point."""
    said = tomllib.loads((_root() / kind / "kind.toml").read_text(encoding="utf-8"))
    said["requires"] = json.dumps([core_bounds(), *said["requires"]])
    said["tests"] = json.dumps(["pytest>=8.3", *said["tests"]])
    return {name: text.strip() for name, text in said.items()}


def fill(text, fields):
    """``text`` with every ``$field`` filled in; the fields' own texts may hold fields too."""
    return Template(Template(text).safe_substitute(fields)).substitute(fields)


def templates(source):
    """``(path, text)`` of the templates in one folder; the ending ``.tmpl`` is taken off."""
    return sorted(_walk(_root() / source, ""))


def _root():
    return resources.files("rabbet_cli") / "templates"


def _walk(folder, prefix):
    for item in folder.iterdir():
        if item.is_dir():
            yield from _walk(item, f"{prefix}{item.name}/")
        elif item.name.endswith(".tmpl"):
            yield prefix + item.name.removesuffix(".tmpl"), item.read_text(encoding="utf-8")


def core_bounds():
    """``rabbet-core>=0.1,<0.2``: one minor version, since the next one may change `rabbet.extend`."""
    major, minor = rabbet.__version__.split(".")[:2]
    return f"rabbet-core>={major}.{minor},<{major}.{int(minor) + 1}"


__all__ = ["HELP", "KINDS", "add_arguments", "forms", "run", "write"]
