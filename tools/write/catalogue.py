"""Write core's catalogue: which first-party package offers which name, from the packages' own metadata.

Core reads it when a name is missing, to say what to install. Run it after an entry point has changed:

    python tools/write/catalogue.py            # writes core/src/rabbet/plugins/catalogue.json
    python tools/write/catalogue.py --check    # says whether it is up to date
"""

import json
import pathlib
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "core/src/rabbet/plugins/catalogue.json"
FOLDERS = "plugins/*/*/pyproject.toml", "pjrt_*/pyproject.toml"
GROUPS = (
    "rabbet.api", "rabbet.backends", "rabbet.calls", "rabbet.commands", "rabbet.custom_rules",
    "rabbet.dtypes", "rabbet.frames", "rabbet.groups", "rabbet.hooks", "rabbet.loops", "rabbet.passes",
    "rabbet.settings",
)  # fmt: skip


def catalogue():
    """``{group: {name: what to install}}``, sorted: a distribution, or the extra of the meta-distribution
    that brings it with what it needs.
    """
    extras = extras_of(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])
    found = {group: {} for group in GROUPS}
    for file in sorted(file for pattern in FOLDERS for file in ROOT.glob(pattern)):
        project = tomllib.loads(file.read_text())["project"]
        for group in GROUPS:
            for name in project.get("entry-points", {}).get(group, ()):
                found[group][name] = extras.get(project["name"], project["name"])
    return {group: dict(sorted(names.items())) for group, names in found.items()}


def extras_of(project):
    """``{distribution: "rabbet[cuda13]"}`` for what only an extra installs; of several the last one."""
    return {
        line.partition("[")[0].partition(">")[0].strip(): f"{project['name']}[{extra}]"
        for extra, lines in project["optional-dependencies"].items()
        for line in lines
        if "-pjrt-" in line
    }


def as_text():
    """The file's text."""
    return json.dumps(catalogue(), indent=1) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(
            0 if CATALOGUE.read_text() == as_text() else f"{CATALOGUE} is old: run tools/write/catalogue.py"
        )
    CATALOGUE.write_text(as_text())
