"""Release all distributions together, with one version.

    python tools/release/release.py all                 # everything below but publish, into dist/
    python tools/release/release.py version 0.2.0       # write it everywhere
    python tools/release/release.py check               # whether all agree, and CHANGELOG.md has the version
    python tools/release/release.py build               # wheels and source archives into dist/, looked into
    python tools/release/release.py bundle              # lock, index page, bill of materials, checksums
    python tools/release/release.py publish --dry-run   # what would be uploaded; without --dry-run it is

`build` needs hatchling, `bundle` and `publish` need uv. The version stands in every pyproject.toml and in
`rabbet.version`; requirements among our own packages are `>=MAJOR.MINOR,<NEXT`.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import bundle

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = ROOT / "core" / "src" / "rabbet" / "version.py"


def folders():
    """The folders of all distributions that are released: the root, core, plugins and backends."""
    return [ROOT, ROOT / "core", *sorted(ROOT.glob("plugins/*/*")), *sorted(ROOT.glob("pjrt_*"))]


def files():
    """Their pyproject.toml files."""
    return [folder / "pyproject.toml" for folder in folders() if (folder / "pyproject.toml").exists()]


def range_of(version):
    """``>=0.2,<0.3`` for 0.2.x: a minor version may change what plugins use."""
    major, minor = version.split(".")[:2]
    return f">={major}.{minor},<{major}.{int(minor) + 1}"


def write(version):
    """Write the version, and the ranges that follow from it, into every file."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        sys.exit(f"{version!r} is no version such as 0.2.0 or 0.2.0rc1")
    for path in files():
        text = re.sub(r'^version = "[^"]*"', f'version = "{version}"', path.read_text(), count=1, flags=re.M)
        text = re.sub(
            r'"(rabbet-[a-z0-9-]+(?:\[[a-z0-9]+\])?)>=[0-9.]+,<[0-9.]+', rf'"\1{range_of(version)}', text
        )
        path.write_text(text)
    VERSION.write_text(re.sub(r'VERSION = "[^"]*"', f'VERSION = "{version}"', VERSION.read_text()))


def core_version():
    """The version of the core, which is that of all."""
    return tomllib.loads((ROOT / "core" / "pyproject.toml").read_text())["project"]["version"]


def disagreements():
    """Lines that say which file has another version, or requires another range, than the core."""
    core = core_version()
    found = []
    if f'VERSION = "{core}"' not in VERSION.read_text():
        found.append(f"{VERSION.relative_to(ROOT)}: VERSION is not {core}")
    for path in files():
        project = tomllib.loads(path.read_text())["project"]
        name = path.relative_to(ROOT)
        if project["version"] != core:
            found.append(f"{name}: version {project['version']}, the core has {core}")
        extras = project.get("optional-dependencies", {}).values()
        for line in [*project.get("dependencies", []), *[one for extra in extras for one in extra]]:
            if line.startswith("rabbet-") and range_of(core) not in line:
                found.append(f"{name}: requires {line}, not {range_of(core)}")
    return found


def build(into):
    """Build a wheel and a source archive of every distribution, and look whether each has its licence."""
    for path in files():
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(into)]
        done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{path.parent.relative_to(ROOT)} does not build:\n{done.stdout}{done.stderr}")
    archives = bundle.archives(into)
    for archive in archives:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as opened:
                names = opened.namelist()
        else:
            with tarfile.open(archive) as opened:
                names = opened.getnames()
        if not any(name.endswith("LICENSE") for name in names):
            sys.exit(f"{archive.name} has no LICENSE")
    print(f"{len(archives)} archives in {into}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("version").add_argument("version")
    commands.add_parser("check")
    commands.add_parser("build").add_argument("--into", type=pathlib.Path, default=ROOT / "dist")
    for name in ("bundle", "all"):
        command = commands.add_parser(name)
        command.add_argument("--into", type=pathlib.Path, default=ROOT / "dist")
        command.add_argument("--unreleased", action="store_true", help="CHANGELOG.md has no such version yet")
    commands.add_parser("publish").add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    if options.command == "version":
        write(options.version)
    found = disagreements()
    if found:
        sys.exit("\n".join(found))
    version = core_version()
    if options.command in ("check", "publish") or (options.command == "all" and not options.unreleased):
        bundle.changes(version)
    if options.command in ("build", "all"):
        options.into = options.into.resolve()  # each archive is built in the folder of its package
        options.into.mkdir(parents=True, exist_ok=True)
        others = [a.name for a in bundle.archives(options.into) if f"-{version}" not in a.name]
        if others:
            sys.exit(f"{options.into} has archives of another version: {', '.join(others[:3])}")
        build(options.into)
    if options.command in ("bundle", "all"):
        for line in bundle.write_all(options.into, version, options.unreleased):
            print(line)
    if options.command == "publish":
        archives = bundle.archives(ROOT / "dist")
        if not archives:
            sys.exit("dist/ is empty: python tools/release/release.py build")
        print(*[archive.name for archive in archives], sep="\n")
        if not options.dry_run:
            subprocess.run(["uv", "publish", *map(str, archives)], check=True)


if __name__ == "__main__":
    main()
