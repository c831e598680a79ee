"""The table of first-party names in core, against what the packages really offer."""

import pathlib
import tomllib

from rabbet.plugins.api import KNOWN

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_table_of_known_names_is_that_of_the_packages():
    offered = {}
    for file in ROOT.glob("plugins/*/pyproject.toml"):
        project = tomllib.loads(file.read_text())["project"]
        names = project.get("entry-points", {}).get("rabbet.api")
        if names:
            offered[project["name"]] = set(names)
    assert {distribution: set(names.split()) for distribution, names in KNOWN.items()} == offered
