"""What is installed, as it was found last time, in a file.

Python's reader of metadata, stevedore, and their reading take 35 ms of processor time, of 290 until
`rb.numpy`, `rb.nn` and `rb.jit` are there (Python 3.11, busy machine). The file takes 1. There is one for
each environment and PYTHONPATH. It counts as long as the folders with installed packages are the same and
were changed last when they were then, and the others that Python imports from have none.

It lies in the user's cache folder, as stevedore's own list does, and like the compiled programs there it is
not read if others may have written it. It holds no more than the packages' metadata do.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from rabbet.messages.signal_errors import is_of_handler, raise_if_of_handler
from rabbet.runtime.caching.atomic_files import write_whole
from rabbet.runtime.caching.disk_cache import read_if_ours
from rabbet.version import VERSION

FORMAT = 1
FOLDER = "installed"
MOST = 100  # files; the oldest go
PACKAGES = (".dist-info", ".egg-info", ".egg", ".egg-link")
# Of the variable, not of the setting: what settings there are is what is being looked up.
OFF = ("0", "false", "no", "off")
UNREADABLE = "unreadable"  # what was kept where the metadata of some package could not be read
VALUE = re.compile(r"(?P<module>[\w.]+)\s*(:\s*(?P<attributes>[\w.]+)\s*)?(\[.*\]\s*)?")


class Package:
    """An installed distribution: what the manager asks of one."""

    def __init__(self, name: Any, version: Any, requires: Any) -> None:
        self.name, self.version, self.requires, self.entry_points = name, version, requires, []

    @property
    def files(self) -> Any:
        """Its files, from its metadata."""
        from importlib.metadata import distribution

        return distribution(self.name).files


class Point:
    """An entry point, with ``dist``, the `Package` that has it."""

    def __init__(self, name: Any, value: Any, group: Any, dist: Any) -> None:
        self.name, self.value, self.group, self.dist = name, value, group, dist

    def load(self) -> Any:
        """The object that it names; imports its module."""
        match = VALUE.fullmatch(self.value)
        if match is None:
            raise ValueError(f"cannot read {self.value!r}")
        attributes = filter(None, (match["attributes"] or "").split("."))
        return reduce(getattr, attributes, import_module(match["module"]))


def read() -> Any:
    """``{group: [Point, ...]}`` as it was kept, or `UNREADABLE`; None if nothing was kept, or packages
    have changed.
    """
    place = _place()
    if place is None:
        return None
    try:
        content, problem = read_if_ours(place)
        return None if problem else _points(json.loads(content))
    except Exception as error:  # there is none, or it is not what it should be
        if is_of_handler(error):
            raise
        return None


def _points(kept: dict[Any, Any]) -> Any:
    if kept["made by"] != [FORMAT, VERSION] or not _are_as_they_were(dict(kept["folders"]), kept["plain"]):
        return None
    if any(_changed(file) != then for file, then in kept["files"]):
        return None
    if kept["groups"] is None:
        return UNREADABLE
    packages = [Package(*package) for package in kept["packages"]]
    groups = {}
    for group, points in kept["groups"].items():
        groups[group] = [Point(name, value, group, packages[i]) for name, value, i in points]
        for point in groups[group]:
            point.dist.entry_points.append(point)
    return groups


def keep(find: Any, owner: Callable[..., Any]) -> None:
    """Write the file, if that can be.

    Args:
      find: a function without arguments, for ``{group: [entry point, ...]}``; called only where there is a
        place to write to.
      owner: from an entry point to its distribution, or None.
    """
    place = _place()
    if place is None:
        return
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(place.parent, os.W_OK):
            write_whole(place, json.dumps(_content(find, owner)).encode())
            _remove_oldest(place.parent)
    except OSError as error:
        if is_of_handler(error):
            raise


def _content(find: Callable[..., Any], owner: Callable[..., Any]) -> dict[Any, Any]:
    changed = {one: _changed(one) for one in _folders()}
    folders = [one for one in changed if _has_packages(one)]
    content = {
        "made by": [FORMAT, VERSION],
        "folders": [[one, changed[one]] for one in folders],
        "plain": {one: then for one, then in changed.items() if one not in folders},
        "files": [], "packages": [], "groups": None,
    }  # fmt: skip
    try:
        return content | _found(find(), owner)
    except Exception as error:  # the metadata of some package cannot be read
        if is_of_handler(error):
            raise
        return content


def _found(found: dict[Any, Any], owner: Callable[..., Any]) -> dict[Any, Any]:
    owners, numbers, packages, files, groups = {}, {}, [], [], {}
    for group, points in found.items():
        groups[group] = []
        for point in points:
            key = point.name, point.value, group
            if key not in owners:
                dist = owner(point)
                if dist is None:
                    raise LookupError(f"nobody declares {point}")
                owners |= {(one.name, one.value, one.group): dist for one in dist.entry_points}
            dist = owners[key]
            if dist.name not in numbers:
                numbers[dist.name] = len(packages)
                packages.append([dist.name, dist.version, list(dist.requires or ())])
                declared = os.path.join(str(dist._path), "entry_points.txt")
                files.append([declared, _changed(declared)])
            groups[group].append([point.name, point.value, numbers[dist.name]])
    return {"files": files, "packages": packages, "groups": groups}


def _remove_oldest(folder: Any) -> None:
    files = sorted(folder.glob("*.json"), key=os.path.getmtime)
    for file in files[: max(0, len(files) - MOST)]:
        file.unlink(missing_ok=True)


def _place() -> Any:
    """The file for this environment; None where nothing is to be kept."""
    strangers = [f for f in sys.meta_path if f is not PathFinder and hasattr(f, "find_distributions")]
    if strangers or os.environ.get("RABBET_CACHE", "").strip().lower() in OFF:
        return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        cache = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    except RuntimeError:  # no home folder
        return None
    environment = f"{sys.prefix}\0{os.environ.get('PYTHONPATH', '')}"
    # A remainder is enough: two that meet in one file each find that its folders are not theirs.
    number = int.from_bytes(environment.encode(errors="replace"), "little") % (2**127 - 1)
    return cache / "rabbet" / FOLDER / f"{number:032x}.json"


def _folders() -> list[str]:
    """What Python imports from, each once."""
    return list(dict.fromkeys(os.path.abspath(one) for one in sys.path if type(one) is str))


def _changed(path: str) -> int | None:
    """When a file or folder was changed last; None if it is not there."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError as error:
        raise_if_of_handler(error)
        return None


def _has_packages(folder: str) -> bool:
    """Whether a folder has installed packages; a file, as of a zip archive, may have."""
    try:
        return any(name.endswith(PACKAGES) for name in os.listdir(folder))
    except OSError as error:
        raise_if_of_handler(error)
        return os.path.isfile(folder)


def _are_as_they_were(folders: dict[Any, Any], plain: Any) -> bool:
    """Whether the packages stand where they stood: ``folders`` by the times of their last changes, and
    ``plain`` ones, which had none, by theirs.
    """
    now, nothing = _folders(), object()
    for folder in now:
        then = folders[folder] if folder in folders else plain.get(folder, nothing)
        if _changed(folder) != then and (folder in folders or _has_packages(folder)):
            return False
    return [one for one in now if one in folders] == list(folders)


__all__ = ["UNREADABLE", "VALUE", "Package", "Point", "keep", "read"]
