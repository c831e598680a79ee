"""Each wheel is built once a session, by the build backend that its pyproject names, in this process: another
for each of sixty folders would take longer than all that is tested of them.
"""

import pathlib
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "release"))

import wheels  # noqa: E402


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """wheel(folder): the folder's wheel, an open ZipFile."""
    built = {}

    def build(folder):
        if folder not in built:
            made = wheels.build(ROOT / folder, tmp_path_factory.mktemp("wheel"))
            built[folder] = zipfile.ZipFile(made)
        return built[folder]

    yield build
    for archive in built.values():
        archive.close()
