"""Write the lists of packages: what the repository says of its packages follows from their folders.

    python tools/write/packages.py            # writes them
    python tools/write/packages.py --check    # fails if one is not what would be written

A package says of itself, in the table `[tool.rabbet]` of its pyproject.toml:

- `brings`: a line of README;
- `extra`, where it is no standard package: the extra of the distribution `rabbet` that installs it
  ("by hand": none that these lists know), and `extra-needs`: the extra of its own that is meant;
- `matrix = false`: environments of tests do not have it, but those made for it;
- `tests`: marks that all its tests have (conftest.py);
- `type-checked = false`, or the paths that mypy reads.

Lists stand between lines that say `made by tools/write/packages.py: NAME` and `end of NAME`.
"""

import argparse
import pathlib
import re
import sys
import tomllib
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the folders of plugins/ are for, in the order of reading.
GROUPS = {
    "transformations": "what is done with functions",
    "language": "what programs may hold besides operations",
    "functions": "libraries of functions",
    "kernels": "functions that are written for hardware",
    "dtypes": "number formats",
    "scale": "many devices, many processes, large data",
    "interop": "other formats, other frameworks",
    "tooling": "the command line, tests, profiles",
}


def packages() -> dict[str, dict[str, Any]]:
    """pyproject.toml of each released package but the root, by its folder."""
    files = [
        ROOT / "core/pyproject.toml",
        *ROOT.glob("plugins/*/*/pyproject.toml"),
        *ROOT.glob("pjrt_*/pyproject.toml"),
    ]
    return {str(file.parent.relative_to(ROOT)): tomllib.loads(file.read_text()) for file in sorted(files)}


def about(package: dict[str, Any]) -> dict[str, Any]:
    """What a package says of itself in ``[tool.rabbet]``."""
    return package.get("tool", {}).get("rabbet", {})


def paths(folder: str, package: dict[str, Any]) -> list[str]:
    """What its wheel installs, without ``src/``: ``rabbet_jit``, ``rabbet/stages.py``."""
    wheel = package["tool"]["hatch"]["build"]["targets"]["wheel"]
    only = [path.removeprefix("src/") for path in wheel.get("only-include", [])]
    return only or [path.name for path in sorted((ROOT / folder / "src").iterdir()) if path.is_dir()]


def namespace_folders() -> list[str]:
    """Folders that hold a part of the package ``rabbet`` without its __init__.py."""
    found = set()
    for folder in packages():
        if folder != "core":
            for inner in (ROOT / folder / "src").glob("rabbet/**/"):
                if (
                    any(inner.glob("**/*.py"))
                    and not (inner / "__init__.py").exists()
                    and "__pycache__" not in inner.parts
                ):
                    found.add(str(inner.relative_to(ROOT)))
    return sorted(found)


def modules() -> list[str]:
    """Modules that the type checker reads: packages, and what lies in the namespace of ``rabbet``."""
    found = []
    for folder, package in packages().items():
        checked = about(package).get("type-checked", about(package).get("matrix", True))
        if checked:
            for path in paths(folder, package) if checked is True else checked:
                place = ROOT / folder / "src" / path
                inner = (
                    sorted(place.iterdir())
                    if place.is_dir() and not (place / "__init__.py").exists()
                    else [place]
                )
                found += [
                    ".".join(one.relative_to(ROOT / folder / "src").with_suffix("").parts)
                    for one in inner
                    if (one / "__init__.py").exists()
                ]
    return sorted(set(found))


def quoted(names: list[str], indent: str = "    ") -> str:
    """Strings of a TOML list, a line each."""
    return "".join(f'{indent}"{name}",\n' for name in names)


def lists() -> dict[tuple[str, str], str]:
    """What stands in which file under which name."""
    known = packages()
    core = known["core"]["project"]
    major, minor = core["version"].split(".")[:2]
    span = f">={major}.{minor},<{major}.{int(minor) + 1}"
    standard = [p["project"]["name"] for p in known.values() if "extra" not in about(p)]
    extras = {
        about(p)["extra"]: p["project"]["name"]
        + (f"[{about(p)['extra-needs']}]" if "extra-needs" in about(p) else "")
        for p in known.values()
        if about(p).get("extra", "by hand") != "by hand"
    }
    order = ["core", *(f for group in GROUPS for f in known if f.startswith(f"plugins/{group}/"))]
    order += [folder for folder in known if folder not in order]
    rows = ["| folder | package | brings |\n", "|---|---|---|\n"]
    rows += [f"| `{f}` | `{known[f]['project']['name']}` | {about(known[f])['brings']} |\n" for f in order]
    tree = ["```\n", "plugins/\n"]
    for group, meaning in GROUPS.items():
        names = ", ".join(
            folder.rpartition("/")[2] for folder in known if folder.startswith(f"plugins/{group}/")
        )
        tree.append(f"  {group + '/':<21}{meaning}: {names}\n")
    tree.append("```\n")
    return {
        ("pyproject.toml", "standard packages"): quoted([f"{name}{span}" for name in standard]),
        ("pyproject.toml", "extras"): "".join(
            f'{e} = ["{name}{span}"]\n' for e, name in sorted(extras.items())
        ),
        ("pyproject.toml", "namespace folders"): quoted(namespace_folders()),
        ("pyproject.toml", "typed modules"): quoted(modules()),
        ("README.md", "packages"): "".join(rows),
        ("ARCHITECTURE.md", "plugins"): "".join(tree),
    }


def with_lists(name: str, text: str) -> str:
    """A file's text with its lists as they should be."""
    for (file, title), content in lists().items():
        if file == name:
            begin, end = rf"made by tools/write/packages\.py: {title}\b[^\n]*\n", rf"[^\n]*end of {title}\b"
            pattern = f"({begin})(.*?)({end})"
            text, count = re.subn(pattern, lambda m, content=content: m[1] + content + m[3], text, flags=re.S)
            if count != 1:
                sys.exit(f"{name} has {count} places for the list {title!r}")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    unknown = {folder.split("/")[1] for folder in packages() if folder.startswith("plugins/")} - set(GROUPS)
    if unknown:
        sys.exit(
            f"GROUPS in tools/write/packages.py does not say what these folders are for: {sorted(unknown)}"
        )
    for name in sorted({file for file, _ in lists()}):
        path = ROOT / name
        written = with_lists(name, path.read_text())
        if options.check and written != path.read_text():
            sys.exit(f"{name} is not what the packages say: run python tools/write/packages.py")
        path.write_text(written)


if __name__ == "__main__":
    main()
