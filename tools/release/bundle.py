"""What lies beside the wheels of a release: lock, index page, bill of materials, checksums, signature.

Used by `release.py`. The lock is made by `uv pip compile` and the bill of materials by cyclonedx-py, run by
uv; the signature by sigstore, where it can reach its service and knows who signs. What could not be made is
said.
"""

import hashlib
import html
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOCK, INDEX, SBOM = "requirements-lock.txt", "index.html", "rabbet.cdx.json"
SUMS, CHANGES = "SHA256SUMS", "CHANGES.md"


def digest(path):
    """The SHA-256 of a file, as hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def archives(folder):
    """The wheels and source archives in a folder, by name."""
    return sorted([*folder.glob("rabbet*.whl"), *folder.glob("rabbet*.tar.gz")])


def write_index(folder):
    """A page for `pip install --find-links`: a link to each archive, with its checksum."""
    named = [(html.escape(archive.name), digest(archive)) for archive in archives(folder)]
    lines = [f'<a href="{name}#sha256={found}">{name}</a><br>' for name, found in named]
    page = ["<!DOCTYPE html>", "<html><head><title>Rabbet</title></head><body>", *lines, "</body></html>"]
    (folder / INDEX).write_text("\n".join(page) + "\n")
    return f"{INDEX}: {len(lines)} links, for `pip install --find-links`"


def write_lock(folder, version, run=subprocess.run):
    """The versions that this environment has, whose tests ran, with the hashes of their files: for its Python
    and its platform.
    """
    command = [
        "uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate",
        "--python", sys.executable, "--find-links", str(folder), "--constraints", str(tested(folder)),
        "--output-file", str(folder / LOCK), "-",
    ]  # fmt: skip
    done = run(command, input=f"rabbet=={version}\n", capture_output=True, text=True)
    (folder / "tested.txt").unlink()
    if done.returncode:
        return f"no {LOCK}: {last_line(done)}"
    # Where the files of this release lay when the lock was made is of no use to anybody else.
    lines = [line for line in (folder / LOCK).read_text().splitlines() if not line.startswith("--find-links")]
    (folder / LOCK).write_text("\n".join(lines) + "\n")
    pins = [line for line in lines if re.match(r"[a-z].*==", line)]
    python = ".".join(map(str, sys.version_info[:2]))
    return f"{LOCK}: {len(pins)} packages for Python {python} on {sys.platform}, with hashes"


def tested(folder):
    """A file with the versions of this environment of what Rabbet requires: those that the tests ran with."""
    import importlib.metadata as metadata

    names = ("jaxlib", "numpy", "scipy", "ml_dtypes")
    found = []
    for name in names:
        try:
            found.append(f"{name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    path = folder / "tested.txt"
    path.write_text("\n".join(found) + "\n")
    return path


def write_sbom(folder, run=subprocess.run):
    """What the release brings along, in CycloneDX's format."""
    if not (folder / LOCK).exists():
        return f"no {SBOM}: it is made of the lock"
    tool = ["uv", "tool", "run", "--quiet", "--from", "cyclonedx-bom>=5,<8", "cyclonedx-py"]
    command = [*tool, "requirements", "--output-reproducible", "-o", str(folder / SBOM), str(folder / LOCK)]
    done = run(command, capture_output=True, text=True)
    if done.returncode:
        return f"no {SBOM}: {last_line(done)}"
    return f"{SBOM}: what is installed, in CycloneDX's format"


def write_sums(folder):
    """The checksums of all files of the release, as `sha256sum --check` reads them."""
    own = (SUMS, f"{SUMS}.sigstore")
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name not in own]
    (folder / SUMS).write_text("".join(f"{digest(p)}  {p.name}\n" for p in files))
    return f"{SUMS}: {len(files)} files"


def sign(folder, run=subprocess.run, environment=os.environ):
    """A signature of the checksums, which stand for all files: `SHA256SUMS.sigstore`."""
    if not any(name in environment for name in ("SIGSTORE_ID_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")):
        return "not signed: there is no identity here (SIGSTORE_ID_TOKEN, or a forge's workflow)"
    tool = ["uv", "tool", "run", "--quiet", "--from", "sigstore>=3,<5", "sigstore", "sign"]
    where = ["--bundle", str(folder / f"{SUMS}.sigstore"), str(folder / SUMS)]
    done = run([*tool, *where], capture_output=True, text=True)
    return f"not signed: {last_line(done)}" if done.returncode else f"{SUMS}.sigstore: signs {SUMS}"


def last_line(done):
    """The last line that a failed command printed."""
    lines = (done.stderr or done.stdout or "").strip().splitlines()
    return lines[-1].strip() if lines else f"exit code {done.returncode}"


def changes(version, path=ROOT / "CHANGELOG.md"):
    """What CHANGELOG.md says of a version: the lines of its section.

    Raises:
      SystemExit: for a version without a section, without a date, or without a line.
    """
    section = None
    found = []
    for line in path.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:].strip().strip("[").partition("]")[0].partition(" ")[0]
            if section == version and not re.search(r"\d{4}-\d{2}-\d{2}", line):
                sys.exit(f"CHANGELOG.md: {line!r} has no date: write `## {version} - YYYY-MM-DD`")
        elif section == version and line.strip():
            found.append(line)
    if not any(line.lstrip().startswith("-") for line in found):
        sys.exit(f"CHANGELOG.md says nothing of {version}: give `## Unreleased` the version and a date")
    return found


def write_changes(folder, version):
    """What this version changes, as a file of its own: the text of the forge's release."""
    lines = changes(version)
    (folder / CHANGES).write_text("\n".join(lines) + "\n")
    return f"{CHANGES}: {len(lines)} lines"


def write_all(folder, version, unreleased=False):
    """All of it, in the order in which one is made of another; a line on each."""
    yield f"no {CHANGES}: not released yet" if unreleased else write_changes(folder, version)
    yield write_index(folder)
    yield write_lock(folder, version)
    yield write_sbom(folder)
    yield write_sums(folder)
    yield sign(folder)
