"""The site: built by tox before the tests (`RABBET_SITE` names its folder), else by the first test."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "write" / "pages"))

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="session")
def browser():
    """A Chromium or Chrome of this machine (Debian: `chromium`), steered by `playwright`, which the
    environment `browser` installs. `RABBET_BROWSER` names another browser by its path.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = os.environ.get("RABBET_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield one
        one.close()


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
