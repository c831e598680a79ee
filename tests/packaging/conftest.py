"""Each wheel is built once a session, by the build backend that its pyproject names."""

import pathlib
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """wheel(folder): the folder's wheel, an open ZipFile."""
    built = {}

    def build(folder):
        if folder not in built:
            into = tmp_path_factory.mktemp("wheel")
            command = [
                sys.executable,
                "-m",
                "hatchling",
                "build",
                "--target",
                "wheel",
                "--directory",
                str(into),
            ]
            done = subprocess.run(command, cwd=ROOT / folder, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            built[folder] = zipfile.ZipFile(*into.glob("*.whl"))
        return built[folder]

    yield build
    for archive in built.values():
        archive.close()
