"""What to type to install a package of Rabbet's: where the person is, it works."""

from __future__ import annotations

import functools
import pathlib


def command(distribution: str) -> str:
    """``python -m pip install rabbet-random``; in a clone of the repository, from its folder there.

    Example:
      >>> from rabbet.plugins.installing import command
      >>> command("some-other-package")
      'python -m pip install some-other-package'
    """
    folder = folder_of(distribution)
    return f"python -m pip install {distribution if folder is None else folder}"


def folder_of(distribution: str) -> pathlib.Path | None:
    """The folder of a package in the clone that core was installed from; None where there is none."""
    root = clone()
    if root is None:
        return None
    short = distribution.removeprefix("rabbet-").replace("-", "_")
    found = [*root.glob(f"plugins/*/{short}/pyproject.toml"), *root.glob(f"{short}/pyproject.toml")]
    return found[0].parent if found and distribution.startswith("rabbet-") else None


@functools.cache
def clone() -> pathlib.Path | None:
    """The clone of the repository that core lies in or was installed from, or None."""
    import importlib.metadata  # for messages alone
    import json
    import urllib.parse

    here = pathlib.Path(__file__).resolve().parents[4]  # core/src/rabbet/plugins/installing.py, if it is one
    roots = [here]
    try:
        told = importlib.metadata.distribution("rabbet-core").read_text("direct_url.json")
        url = urllib.parse.urlparse(json.loads(told)["url"] if told else "")
        if url.scheme == "file":
            roots.append(pathlib.Path(urllib.parse.unquote(url.path)).parent)
    except (importlib.metadata.PackageNotFoundError, ValueError, KeyError):
        pass
    marks = "plugins", "core/pyproject.toml"
    return next((root for root in roots if all((root / mark).exists() for mark in marks)), None)
