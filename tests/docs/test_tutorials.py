"""The tutorials for plugin authors: their files make a wheel, and what they try prints what is shown."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in (ROOT / "docs" / "plugins").glob("*.md") if page.stem != "index")
NAMED = r"^\*\*`([^`]+)`\*\*\n\n```(?:py|toml|cc)\n(.*?)^```\n"
FILE = re.compile(NAMED + r"(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def built(folder):
    """The wheel of a folder, unpacked beside it."""
    backend = pytest.importorskip("hatchling.build")
    here = os.getcwd()
    os.chdir(folder)
    try:
        (folder / "dist").mkdir()
        wheel = backend.build_wheel(str(folder / "dist"))
    finally:
        os.chdir(here)
    with zipfile.ZipFile(folder / "dist" / wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.needs("cpu", "jit", "grad", "vmap", "numpy")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_files_of_a_page_make_a_package_that_works(page, tmp_path):
    if page.stem in ("pass", "dtype", "native"):
        pytest.importorskip("rabbet.testing")
    if page.stem == "native":
        pytest.importorskip("rabbet.sharding")
        pytest.importorskip("rabbet.ffi")
        if shutil.which("c++") is None:
            pytest.skip("needs a C++ compiler")
    shown = None
    for name, text, printed in FILE.findall(page.read_text()):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        shown = printed or shown
    site = built(tmp_path)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-W", "ignore", str(tmp_path / "try.py")]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout == shown


def test_the_index_lists_every_page():
    index = (ROOT / "docs" / "plugins" / "index.md").read_text()
    assert [page.name for page in PAGES if f"({page.name})" not in index] == []
