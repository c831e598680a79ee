"""The site: built by tox before the tests (`RABBET_SITE` names its folder), else by the first test."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "pages"))


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site."""
    if folder := os.environ.get("RABBET_SITE"):
        return pathlib.Path(folder)
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: the environment `docs` has it")
    pytest.importorskip("material", reason="mkdocs-material is not installed: the environment `docs` has it")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    subprocess.run(
        command, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True
    )
    return folder
