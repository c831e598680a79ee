"""Made-up distributions: entry points with owners, from two texts and no installation."""

import importlib.metadata

import rabbet as rb
from rabbet.plugins.manager import PluginManager

MODULE = "rabbet_module_of_tests"  # what entry points name; the fixture `objects` makes it


class FakeDistribution(importlib.metadata.Distribution):
    """A distribution whose metadata are two strings."""

    def __init__(self, name, entry_points, requires=("rabbet-core>=0.1",), version="1.0"):
        required = "".join(f"Requires-Dist: {one}\n" for one in requires)
        self.texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
            "entry_points.txt": entry_points,
        }

    def read_text(self, filename):
        return self.texts.get(filename)

    def locate_file(self, path):
        raise NotImplementedError


def offer(distribution, group, **names):
    """Entry points of one made-up distribution: ``offer("my-dist", "rabbet.api", grad="my_module:grad")``."""
    lines = "\n".join(f"{name} = {value}" for name, value in names.items())
    return list(FakeDistribution(distribution, f"[{group}]\n{lines}\n").entry_points)


def manager(*entry_points):
    return PluginManager(entry_points, core_version=rb.__version__)
