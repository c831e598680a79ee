"""The test suites of libraries written for JAX: how many cases pass under JAX, how many of these on Rabbet.

    python tools/check/library_suites.py --into FOLDER optax             # all files of a library
    python tools/check/library_suites.py --into FOLDER optax --only transforms loss
    python tools/check/library_suites.py --into FOLDER --here-first flax # JAX only where something fails here
    python tools/check/library_suites.py --into FOLDER numpyro --only test_distributions --every 37
    python tools/check/library_suites.py --into FOLDER --table           # what is known, as a table
    python tools/check/library_suites.py --into FOLDER --record          # the same into docs/jax_libraries.md
    python tools/check/library_suites.py --into FOLDER --also OTHER --record   # with other folders' runs
    python tools/check/library_suites.py --into FOLDER --record-fails    # which cases fail, and no counts
    python tools/check/library_suites.py --into FOLDER --failures optax  # grouped by what they say

The environment has the libraries, jax and Rabbet (as tox's `ecosystem`), and pytest-timeout. Source
distributions are downloaded once into FOLDER/src. A file runs in a process of its own, first under JAX (once:
the results are kept), then on Rabbet; a case has a limit, and so has a file. What passes under JAX is what
Rabbet is measured by.
"""

import argparse
import collections
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).parent / "suites"
sys.path.insert(0, str(HERE))

from libraries import LIBRARIES  # noqa: E402

ROOT = HERE.parents[2]
RECORD, PAGE = ROOT / "tests" / "ecosystem" / "suites.json", ROOT / "docs" / "jax_libraries.md"
BEGIN, END = "<!-- suites: written by tools/check/library_suites.py --record -->", "<!-- end of suites -->"
UNKNOWN = "not recorded"
PART = ", every case of "  # between the name of a file and how many cases one was taken of
UNDER = {"jax": ["-m", "pytest"], "rabbet": ["-m", "rabbet_jax", "-m", "pytest"]}


def source(library, into):
    """The folder of a library's source distribution, downloaded if it is not there."""
    name = library.distribution
    release = f"{name}=={importlib.metadata.version(name)}"
    folder = into / "src" / release
    if not folder.exists():
        download = into / "download" / release
        download.mkdir(parents=True, exist_ok=True)
        command = "-m pip download --quiet --no-deps --no-binary :all: --dest".split()
        subprocess.run([sys.executable, *command, str(download), release], check=True)
        (archive,) = download.glob("*.tar.gz")
        with tarfile.open(archive) as content:
            content.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


def files_of(library, root, only):
    """The test files, in order; ``only`` are words of which a path must have one."""
    found = sorted({path for pattern in library.patterns for path in root.glob(pattern)})
    chosen = [path for path in found if not library.sample or path.name in library.sample]
    chosen = [path for path in chosen if path.name not in library.skipped]
    return [path for path in chosen if not only or any(word in str(path.relative_to(root)) for word in only)]


def run(path, root, under, log, args):
    """Run a file in a process of its own; write what became of each case to ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    log.with_suffix(".commit").write_text(commit())
    options = ["-q", "-p", "no:cacheprovider", "-p", "case_log", "-p", "no:randomly"]
    options += [f"--timeout={args.case_limit}", "--timeout-method=signal", "--import-mode=importlib"]
    options += ["-o", "addopts=", "-o", "filterwarnings=", "--rootdir", str(root)]
    environment = {
        **os.environ,
        "CASE_LOG": str(log),
        "CASES_EVERY": str(args.every),
        "PYTHONPATH": os.pathsep.join([str(HERE), *([str(root)] if (root / "tests").exists() else [])]),
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    with open(log.with_suffix(".out"), "w") as out:
        try:
            status = subprocess.run(
                [sys.executable, *UNDER[under], *options, str(path)],
                stdout=out, stderr=out, timeout=args.file_limit, cwd=root, env=environment, check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            status = "the file's limit"
    with open(log, "a") as lines:
        lines.write(json.dumps(["", "ended", str(status)]) + "\n")


def commit():
    """The commit of this tree, marked if files were changed since."""
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def logs_of(folders, under, name):
    """The logs of a library's files by the names of the files; the first folder that has one counts."""
    found = {}
    for folder in reversed(folders):
        found |= {log.stem: log for log in sorted((folder / "logs" / under / name).glob("*.jsonl"))}
    return found


def commits_of(folders, name, files):
    """The commits of Rabbet that these files of a library ran on."""
    logs = logs_of(folders, "rabbet", name)
    notes = [logs[file].with_suffix(".commit") for file in files]
    return ", ".join(sorted({note.read_text() if note.exists() else UNKNOWN for note in notes}))


def read(log):
    """How each case ended: ``{case: (outcome, why)}``."""
    cases, last = {}, None
    for line in log.read_text().splitlines():
        case, outcome, why = json.loads(line)
        if outcome == "ended":
            if why not in ("0", "1", "5") and (not cases or (last and cases[last][0] == "started")):
                cases[last or log.stem] = ("died", f"the process ended: {why}")
        elif cases.get(case, ("started",))[0] in ("started", "passed"):
            cases[case] = (outcome, why)
            last = case
    return cases


def results(folders, name):
    """What is known of a library: ``{file: {"jax": cases, "rabbet": cases}}``."""
    found = collections.defaultdict(dict)
    for under in UNDER:
        for stem, log in logs_of(folders, under, name).items():
            found[stem][under] = read(log)
    return found


def counts(known):
    """Files run, cases that pass under JAX, and those of them that pass on Rabbet."""
    both = [file for file in known.values() if len(file) == 2]
    wanted = [
        file["rabbet"].get(case, ("absent",))[0]
        for file in both
        for case, (outcome, _) in file["jax"].items()
        if outcome == "passed"
    ]
    return len(both), len(wanted), wanted.count("passed")


def failing(known):
    """The cases that pass under JAX alone, and the first line of what each says on Rabbet."""
    found = {}
    for file, under in known.items():
        for case, (outcome, _) in under["jax"].items() if len(under) == 2 else ():
            ended, why = under["rabbet"].get(case, ("absent", "it is not collected"))
            if outcome == "passed" and ended != "passed":
                said = re.sub(r"(?<![\w.])/[\w./=+-]*/", "", (why.strip() or ended).splitlines()[0])
                found[f"{file}::{case.rpartition('::')[2]}"] = said[:300]
    return found


def clean_here(known):
    """The files that ran on Rabbet alone and in which nothing fails, and how many of their cases pass."""
    files, passed = [], 0
    for file, under in known.items():
        outcomes = [outcome for outcome, _ in under["rabbet"].values()] if list(under) == ["rabbet"] else []
        if outcomes and set(outcomes) <= {"passed", "skipped"}:
            files.append(file)
            passed += outcomes.count("passed")
    return sorted(files), passed


def measured(folders, names):
    """What the page of the documentation says: for each library its release, what was run of it on which
    commit, and how much passes.
    """
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name in names:
        known = results(folders, name)
        files, wanted, passed = counts(known)
        if not wanted:
            continue
        both = sorted(file for file, under in known.items() if len(under) == 2)
        library = LIBRARIES[name]
        clean, passed_here = clean_here(known)
        if library.patterns:
            parts = [file for file in both if PART in file]
            files -= len(parts)
            in_all = len(files_of(library, source(library, folders[0]), ()))
            what = "all files" if files == in_all else f"{files} of {in_all} files"
            what += f", a part of {len(parts)} more" if parts else ""
        else:
            what = "cases of ours"
        found[name] = {
            "release": importlib.metadata.version(library.distribution),
            "jax": importlib.metadata.version("jax"),
            "what": what,
            "files": both,
            "commit": commits_of(folders, name, both),
            "under jax": wanted,
            "on rabbet": passed,
            "files on rabbet only": clean,
            "passed on rabbet only": passed_here,
            "fails": failing(known),
        }
    return found


def table(found):
    """The numbers of the libraries as a Markdown table."""
    lines = [
        "| library | release | under both | pass under JAX | of these on Rabbet | | more, all passes here |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in sorted(found.items()):
        wanted, passed = row["under jax"], row["on rabbet"]
        share = f"{100 * passed / wanted:.1f}%"
        clean = row.get("files on rabbet only", [])
        more = f"{len(clean)} files, {row['passed on rabbet only']} cases" if clean else ""
        what = f"[{name}](libraries/{name}.md) | {row['release']} | {row['what']}"
        lines.append(f"| {what} | {wanted} | {passed} | {share} | {more} |")
    return "\n".join(lines)


def page_with(found, text):
    """The page of the documentation with this table between its markers."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(found)}\n{END}{after}"


def failures(folders, name, only):
    """What fails on Rabbet alone, the most frequent message first."""
    groups = collections.defaultdict(list)
    for file, known in results(folders, name).items():
        if len(known) < 2 or (only and not any(word in file for word in only)):
            continue
        broken = [why for outcome, why in known["rabbet"].values() if outcome == "uncollected"]
        for case, (outcome, _) in known["jax"].items():
            ended, why = known["rabbet"].get(case, ("absent", broken[0] if broken else ""))
            if outcome == "passed" and ended != "passed":
                message = re.sub(r"0x[0-9a-f]+|\d+", "N", why.strip().partition("\n  to fix")[0])[:300]
                groups[f"{ended}: {message}"].append(f"{file}::{case.rpartition('::')[2]}")
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=", ".join(LIBRARIES))
    parser.add_argument("--into", type=pathlib.Path, required=True, help="where sources and results are kept")
    parser.add_argument("--also", nargs="*", default=(), type=pathlib.Path, help="more folders of results")
    parser.add_argument("--only", nargs="*", default=(), help="parts of the paths of test files")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of each file every N-th case")
    parser.add_argument("--case-limit", type=int, default=60, metavar="SECONDS")
    parser.add_argument("--file-limit", type=int, default=300, metavar="SECONDS")
    parser.add_argument("--again", action="store_true", help="on Rabbet once more, where it is known already")
    parser.add_argument("--here-first", action="store_true", help="under JAX only where something fails here")
    parser.add_argument("--table", action="store_true", help="only show what is known")
    parser.add_argument("--record", action="store_true", help="write it down, and into the documentation")
    parser.add_argument(
        "--record-fails", action="store_true", help="write down which cases fail, and no counts"
    )
    parser.add_argument("--failures", action="store_true", help="only show what fails on Rabbet alone")
    args = parser.parse_args()
    names, into = args.libraries or list(LIBRARIES), args.into.resolve()
    folders = [into, *(folder.resolve() for folder in args.also)]
    for name in names if not (args.table or args.failures or args.record or args.record_fails) else ():
        library = LIBRARIES[name]
        root = source(library, into) if library.patterns else HERE / "own"
        ours = sorted(root.glob(f"test_{name}*.py"))
        for path in files_of(library, root, args.only) if library.patterns else ours:
            stem = str(path.relative_to(root).with_suffix("")).replace(os.sep, ".")
            stem += f"{PART}{args.every}" if args.every > 1 else ""
            for under in reversed(UNDER) if args.here_first else UNDER:
                log = into / "logs" / under / name / f"{stem}.jsonl"
                if args.here_first and under == "jax" and clean_here({stem: results([into], name)[stem]})[0]:
                    break
                if not log.exists() or (args.again and under == "rabbet"):
                    run(path, root, under, log, args)
            known = results([into], name)[stem]
            _, wanted, passed = counts({stem: known})
            clean, passed_here = clean_here({stem: known})
            print(f"{name} {stem}: {passed_here if clean else f'{passed} of {wanted}'}", flush=True)
    if args.failures:
        for name in names:
            for message, cases in failures(folders, name, args.only):
                print(f"{len(cases):4} {name}: {message}\n       {', '.join(cases[:3])}")
        return
    if args.record_fails:
        found = json.loads(RECORD.read_text())
        for name in found.keys() & set(names):
            fails = failing(results(folders, name))
            # More than were counted: the logs are of another run than the counts.
            if len(fails) <= found[name]["under jax"] - found[name]["on rabbet"]:
                found[name]["fails"] = {**found[name].get("fails", {}), **fails}
    else:
        found = measured(folders, names)
    if args.record or args.record_fails:
        RECORD.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page_with(found, PAGE.read_text()))
    print(table({name: found[name] for name in names if name in found}))


if __name__ == "__main__":
    main()
