"""A release beside its wheels: an index page that pip takes, checksums, a lock, what could not be made."""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "release"))

import bundle  # noqa: E402


class Ran:
    """What a command gave back."""

    def __init__(self, returncode, stderr=""):
        self.returncode, self.stdout, self.stderr = returncode, "", stderr


@pytest.fixture
def dist(wheel, tmp_path):
    """A folder with the wheels of core and the CPU."""
    for folder in ("core", "pjrt_cpu"):
        shutil.copy(wheel(folder).filename, tmp_path)
    return tmp_path


def test_pip_installs_from_the_index_page(dist, tmp_path_factory):
    bundle.write_index(dist)
    into = tmp_path_factory.mktemp("installed")
    command = ["uv", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", into]
    subprocess.run([*command, "--find-links", dist / "index.html", "rabbet-core"], check=True)
    assert (into / "rabbet" / "version.py").exists()


def test_a_damaged_wheel_is_refused_by_the_index_page(dist, tmp_path_factory):
    bundle.write_index(dist)
    (core,) = dist.glob("rabbet_core*.whl")
    with zipfile.ZipFile(core, "a") as opened:
        opened.writestr("added.txt", "x")
    command = ["uv", "pip", "install", "--no-index", "--no-deps", "--target", tmp_path_factory.mktemp("none")]
    command += ["--find-links", dist / "index.html", "--no-cache", "rabbet-core"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode and "ash mismatch" in done.stderr


def test_checksums_are_of_all_files(dist):
    bundle.write_index(dist)
    bundle.write_sums(dist)
    listed = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert listed == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in dist.iterdir() if path.name != "SHA256SUMS"
    }  # fmt: skip


def test_what_cannot_be_made_is_said(dist):
    failing = lambda *args, **kwargs: Ran(1, "first\nno route to the index")
    assert bundle.write_lock(dist, "0.1.0", failing) == "no requirements-lock.txt: no route to the index"
    assert bundle.write_sbom(dist, failing) == "no rabbet.cdx.json: it is made of the lock"
    assert bundle.sign(dist, failing, {}).startswith("not signed: there is no identity")
    said = bundle.sign(dist, failing, {"SIGSTORE_ID_TOKEN": "x"})
    assert said == "not signed: no route to the index"


def test_the_lock_is_made_with_the_versions_that_are_here(dist):
    asked = []

    def run(command, **options):
        asked.append((command, pathlib.Path(command[command.index("--constraints") + 1]).read_text()))
        (dist / "requirements-lock.txt").write_text(f"--find-links {dist}\njaxlib==0.12.0 \\\n    --hash=x\n")
        return Ran(0)

    assert bundle.write_lock(dist, "0.1.0", run).startswith("requirements-lock.txt: 1 packages")
    assert "--generate-hashes" in asked[0][0]
    assert all(re.fullmatch(r"[a-z_]+==[\w.+]+", line) for line in asked[0][1].split())
    assert (dist / "requirements-lock.txt").read_text() == "jaxlib==0.12.0 \\\n    --hash=x\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("## Unreleased\n\n- a\n", "says nothing of 0.2.0"),
        ("## 0.2.0\n\n- a\n", "has no date"),
        ("## 0.2.0 - 2026-01-01\n\n## 0.1.0 - 2025-01-01\n- a\n", "says nothing of 0.2.0"),
    ],
)
def test_a_version_without_changes_is_refused(text, said, tmp_path):
    (tmp_path / "CHANGELOG.md").write_text(text)
    with pytest.raises(SystemExit, match=said):
        bundle.changes("0.2.0", tmp_path / "CHANGELOG.md")


def test_the_changes_of_a_version(tmp_path):
    text = "## Unreleased\n- c\n\n## [0.2.0] - 2026-01-01\n### Added\n- b\n\n## 0.1.0 - 2025-01-01\n- a\n"
    (tmp_path / "CHANGELOG.md").write_text(text)
    assert bundle.changes("0.2.0", tmp_path / "CHANGELOG.md") == ["### Added", "- b"]
