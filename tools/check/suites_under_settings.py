"""Every plugin's own tests under settings that check programs: which failures are the library's own?

A test may break a setting by what it writes itself, such as ``float32 + int32`` under strict promotion. So a
failure counts only where the innermost line outside of core's operators is the library's, or where the
numbers differ. Tests that are about what a setting forbids say so, by the marker `forbidden`.

One process for each package and setting, with one row of each test (`--rows`) and without most of XLA's
optimizations, which these settings do not touch. The environment `suites` runs them all in some hours, at
night. What it prints ends with a table of counts. `--record` keeps the counts of each run in
tests/settings/suites.json, and `--page` writes from there the tables of docs/reliability.md.

    python tools/check/suites_under_settings.py plugins/functions/nn plugins/functions/image
    python tools/check/suites_under_settings.py --settings debug_nans=1 --rows 3 --all
    python tools/check/suites_under_settings.py --failures plugins/functions/numpy     # those of tests, too
    python tools/check/suites_under_settings.py --record plugins/functions/nn
    python tools/check/suites_under_settings.py --page
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (
    "numpy_rank_promotion=raise", "numpy_dtype_promotion=strict", "enable_x64=1", "debug_nans=1",
    "debug_infs=1",
    "check_tracer_leaks=1", "transfer_guard=disallow", "explicit_x64_dtypes=error", "disable_jit=1",
)  # fmt: skip
RECORD = ROOT / "tests" / "settings" / "suites.json"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- made by tools/check/suites_under_settings.py --page -->\n", "<!-- end of suites -->"
# What a setting says stands there, whoever asked.
SPEAKERS = re.compile(r"core/src/rabbet/(lax|dtypes|rules|trace|runtime|program|messages|config)/")
FRAME = re.compile(r"^(\S+\.py):(\d+): (?:in |\w)")
HEADING = re.compile(r"^_{3,} (.+?) _{3,}$")


def failures(text):
    """``(test, innermost line outside of core's operators, error)`` of a report with short tracebacks."""
    found, test, frames, error = [], None, [], ""
    for line in [*text.splitlines(), "___ end ___"]:
        heading = HEADING.match(line)
        if heading or line.startswith("=" * 10):
            if test is not None:
                found.append((test, frames[-1] if frames else "", error))
            test, frames, error = heading[1] if heading else None, [], ""
            continue
        frame = FRAME.match(line)
        if frame and not SPEAKERS.search(frame[1]):
            frames.append(f"{frame[1]}:{frame[2]}")
        elif line.startswith("E   ") and not error:
            error = line[4:].strip()
    return found


def is_of_library(place, error):
    """Whether a failure is the library's and not a test's: by its line, and since a transfer guard speaks of
    nothing but what a call gives.
    """
    return "/tests/" not in place and "src/" in place and "TransferError" not in error


def counts(text):
    """``{"passed": 12, "skipped": 1, ...}`` of the last line of a report."""
    last = (text.strip().splitlines() or [""])[-1]
    return {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", last)}


def marked(text):
    """How many tests of a report were left out since they are about what the setting forbids."""
    return sum(int(n) for n in re.findall(r"^SKIPPED \[(\d+)\] .*: about what \w[\w, ]* forbids", text, re.M))


def report(suite, setting, options):
    """Run one suite under one setting and print what came of it; the counts of its last line, with
    ``"library"``: how many failures are the library's.
    """
    name, _, value = setting.partition("=")
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()
    own = {f"RABBET_{name.upper()}": value, "RABBET_TRACEBACK": "full", "RABBET_TEST_ROWS": str(options.rows)}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    command += ["-m", "not exhaustive", suite, *options.pytest]
    environment = {**os.environ, "XLA_FLAGS": flags, **own}
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
            timeout=options.timeout,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"{suite} {setting}: not done after {options.timeout} s", flush=True)
        return {"unfinished": 1, "library": 1}  # unknown, so it fails, and nothing is kept of it
    found = failures(run.stdout)
    ours = [one for one in found if is_of_library(*one[1:])]
    last = run.stdout.strip().splitlines()[-1:] or [run.stderr.strip()[-100:]]
    print(f"{suite} {setting}: {last[0]}; {len(ours)} in the library", flush=True)
    for test, place, error in found if options.failures else ours:
        print(f"  {test}\n    {place}: {error}", flush=True)
    whole = run.returncode in (0, 1, 5)  # 5: no test of this package runs here
    found = {**counts(run.stdout), "marked": marked(run.stdout)}
    return {**found, "library": len(ours) if whole else max(len(ours), 1)}


def keep(suite, setting, sums):
    """Put the counts of one run into the record, in place of those of an earlier run."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    failed = sums.get("failed", 0) + sums.get("error", 0) + sums.get("errors", 0)
    own = max(failed - sums["library"], 0)
    cell = {"passed": sums.get("passed", 0), "marked": sums.get("marked", 0), "own": own}
    record.setdefault(suite, {})[setting] = {**cell, "library": sums["library"]}
    rows = (
        f'  "{name}": {{\n' + ",\n".join(f'    "{s}": {json.dumps(of[s])}' for s in sorted(of)) + "\n  }"
        for name, of in sorted(record.items())
    )
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def tables(record):
    """The counts of the record as tables in Markdown: by setting, and by package."""
    kinds = "passed", "marked", "own", "library"
    heads = "packages", "passed", "marked", "failed by what the test writes", "failed in the library"
    lines = [f"| setting | {' | '.join(heads)} |"]
    lines += ["|---|---|---|---|---|---|"]
    for setting in SETTINGS:
        cells = [of[setting] for of in record.values() if setting in of]
        sums = (sum(cell[kind] for cell in cells) for kind in kinds)
        lines.append(f"| `{setting}` | {len(cells)} | {' | '.join(map(str, sums))} |")
    heads = (s.partition("=")[0].replace("_", " ") for s in SETTINGS)
    lines += ["", f"| package | {' | '.join(heads)} |", f"|---{'|---' * len(SETTINGS)}|"]
    for suite, of in sorted(record.items()):
        cells = (short(of[s]) if s in of else "not run" for s in SETTINGS)
        lines.append(f"| {suite.removeprefix('plugins/')} | {' | '.join(cells)} |")
    left = len({*packages()} - record.keys())
    return "\n".join([*lines, "", f"Packages without kept counts: {left} of {len(packages())}."]) + "\n"


def short(cell):
    """A run's counts in few signs: ``120``, ``118, 2 marked``, ``115, 3 own, 2 of the library``."""
    words = {"marked": "marked", "own": "own", "library": "of the library"}
    return ", ".join([str(cell["passed"]), *(f"{cell[k]} {word}" for k, word in words.items() if cell[k])])


def packages():
    return sorted(str(p.parent.relative_to(ROOT)) for p in ROOT.glob("plugins/*/*/tests"))


def write_page():
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + tables(json.loads(RECORD.read_text())) + END + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suites", nargs="*", help="folders of packages, as plugins/functions/nn")
    parser.add_argument("--all", action="store_true", help="every package of plugins/")
    parser.add_argument("--settings", nargs="+", default=SETTINGS, metavar="NAME=VALUE")
    parser.add_argument("--rows", type=int, default=1, help="of each test with parameters (1)")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for each process (1800)")
    parser.add_argument("--failures", action="store_true", help="print the failures of tests' own lines, too")
    parser.add_argument("--record", action="store_true", help="keep the counts in tests/settings/suites.json")
    parser.add_argument("--page", action="store_true", help="run nothing; write the tables to the page")
    options, options.pytest = parser.parse_known_args()
    if options.page:
        return write_page()
    suites = packages() if options.all else options.suites
    if not suites:
        parser.error("name folders of packages, or --all")
    library = 0
    table = []
    for setting in options.settings:
        sums = Counter()
        for suite in suites:
            found = report(suite, setting, options)
            sums.update(found)
            if options.record and "unfinished" not in found:
                keep(suite, setting, found)
        library += sums["library"]
        failed = sums["failed"] + sums["error"] + sums["errors"]
        columns = (setting, len(suites), sums["passed"], sums["skipped"], failed, sums["library"])
        table.append(f"| {' | '.join(map(str, columns))} |")
    print("\n| setting | packages | passed | skipped | failed | in the library |\n|---|---|---|---|---|---|")
    print("\n".join(table))
    return 1 if library else 0


if __name__ == "__main__":
    sys.exit(main())
