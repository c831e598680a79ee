"""Every package's own tests under settings that check programs: which failures are the library's own?

A test may break a setting by what it writes itself, such as ``float32 + int32`` under strict promotion. So a
failure counts as the library's only where the innermost line outside of core's operators is the library's.
All others are the test's own, to be looked at: numbers may differ. Tests that are about what a setting
forbids say so, by the marker `forbidden`.

Settings that do not change each other's meaning are on in one process together, written
``debug_nans=1+debug_infs=1``: the error of a failure says which of them it was. A process takes the tests of
several packages (`--together`), one row of each test (`--rows`), without most of XLA's optimizations, which
these settings do not touch. With one folder for `XDG_CACHE_HOME` each program is compiled once for all runs.

What it prints ends with a table of counts. `--record` keeps the counts of each run in
tests/settings/suites.json, and `--page` writes from there the tables of docs/reliability.md.

    python tools/check/suites_under_settings.py plugins/functions/nn plugins/functions/image
    python tools/check/suites_under_settings.py --settings debug_nans=1 --rows 3 --all
    python tools/check/suites_under_settings.py --failures plugins/functions/numpy     # those of tests, too
    python tools/check/suites_under_settings.py --record plugins/functions/nn
    python tools/check/suites_under_settings.py --record --every 4 plugins/scale/parallel
    python tools/check/suites_under_settings.py --page
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (
    "numpy_rank_promotion=raise+numpy_dtype_promotion=strict+check_tracer_leaks=1+debug_nans=1+debug_infs=1",
    "enable_x64=1+disable_jit=1",
    "explicit_x64_dtypes=error",
)
RECORD = ROOT / "tests" / "settings" / "suites.json"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- made by tools/check/suites_under_settings.py --page -->\n", "<!-- end of suites -->"
KINDS = "passed", "marked", "own", "library"
# What a setting says stands there, whoever asked; what helps tests to compute speaks for them.
SPEAKERS = re.compile(
    r"core/src/rabbet/(lax|dtypes|rules|trace|runtime|program|messages|config)/|plugins/tooling/test\w+/src/"
)
FRAME = re.compile(r"^(\S+\.py):(\d+): (?:in |\w)")
MARKED = re.compile(r"about what \w[\w, ]* forbids")


def cause(text):
    """``(innermost line outside of core's operators, error)`` of a short traceback."""
    frames, error = [], ""
    for line in text.splitlines():
        frame = FRAME.match(line)
        if frame and not SPEAKERS.search(frame[1]):
            frames.append(f"{frame[1]}:{frame[2]}")
        elif line.startswith("E   ") and not error:
            error = line[4:].strip()
    return frames[-1] if frames else "", error


def is_of_library(place, error):
    """Whether a failure is the library's and not a test's: by its line, and since a transfer guard and
    ``explicit_x64_dtypes`` speak of nothing but what a call gives.
    """
    of_call = "TransferError" in error or "was asked for while config.enable_x64 is off" in error
    return "/tests/" not in place and "src/" in place and not of_call


class Outcomes:
    """What the tests of one package came to in one process, from the lines of suites/outcomes.py."""

    def __init__(self):
        self.sums = Counter(dict.fromkeys(KINDS, 0))
        self.failures = []  # (test, place, error), the library's or not
        self.waiting = 0

    def add(self, kind, test, text=""):
        if kind in ("chosen", "done"):
            self.waiting += 1 if kind == "chosen" else -1
        elif kind == "skipped":
            self.sums["marked" if MARKED.fullmatch(text) else "skipped"] += 1
        elif kind == "passed":
            self.sums["passed"] += 1
        else:
            place, error = cause(text)
            ours = is_of_library(place, error)
            self.sums["library" if ours else "own"] += 1
            self.failures.append((test, place, error, ours))


def sorted_out(lines, suites):
    """``{package: Outcomes}`` of the lines of one process."""
    found = {suite: Outcomes() for suite in suites}
    for line in lines:
        kind, test, *text = json.loads(line)
        for suite in suites:
            if test.startswith(f"{suite}/"):
                found[suite].add(kind, test, *text)
    return found


def outcomes(suites, settings, options):
    """Run the tests of some packages in one process under a group of settings.

    Returns ``{package: Outcomes}`` and how the process ended: "" or a sentence of what went wrong. A package
    that has tests waiting then was not run to its end.
    """
    own = {f"RABBET_{s.partition('=')[0].upper()}": s.partition("=")[2] for s in settings.split("+")}
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "outcomes"
        log.touch()
        path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
        environment = {
            **os.environ, **own, "XLA_FLAGS": flags, "RABBET_TRACEBACK": "full", "PYTHONPATH": path,
            "RABBET_TEST_ROWS": str(options.rows), "OUTCOMES": str(log), "OUTCOMES_EVERY": str(options.every),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
        command += ["-p", "suites.outcomes", "-m", "not exhaustive", *suites, *options.pytest]
        trouble = ""
        try:
            run = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
                timeout=options.timeout,
            )  # fmt: skip
            if run.returncode not in (0, 1, 5):  # 5: none of these packages' tests runs here
                last = (run.stderr.strip() or run.stdout.strip())[-300:]
                trouble = f"the process ended with {run.returncode}: {last}"
        except subprocess.TimeoutExpired:
            trouble = f"not done after {options.timeout} s"
        return sorted_out(log.read_text().splitlines(), suites), trouble


def report(suites, settings, options):
    """Run packages under a group of settings, print what came of each and keep it. Returns the counts of all;
    a package that did not come to its end counts as one failure of the library and is not kept.
    """
    total = Counter()
    found, trouble = outcomes(suites, settings, options)
    for suite, of in found.items():
        whole = not of.waiting and (of.sums.total() or not trouble)
        words = ", ".join(f"{count} {kind}" for kind, count in of.sums.items() if count)
        end = "" if whole else f"; {of.waiting} not run: {trouble}"
        print(f"{suite} {settings}: {words or 'no tests'}{end}", flush=True)
        for test, place, error, ours in of.failures:
            if ours or options.failures:
                print(f"  {'library' if ours else 'own'}: {test}\n    {place}: {error}", flush=True)
        total.update(of.sums)
        if not whole:
            total["library"] += 1
        elif options.record:
            keep(suite, settings, {kind: of.sums[kind] for kind in KINDS}, options.every)
    return total


def keep(suite, settings, sums, every):
    """Put the counts of one run into the record, in place of those of an earlier run."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    record.setdefault(suite, {})[settings] = sums if every == 1 else {**sums, "every": every}
    rows = (
        f'  "{name}": {{\n' + ",\n".join(f'    "{s}": {json.dumps(of[s])}' for s in sorted(of)) + "\n  }"
        for name, of in sorted(record.items())
    )
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def tables(record):
    """The counts of the record as tables in Markdown: by group of settings, and by package."""
    heads = "packages", "passed", "marked", "failed by what the test writes", "failed in the library"
    lines = [f"| settings | {' | '.join(heads)} |", "|---|---|---|---|---|---|"]
    for group in SETTINGS:
        cells = [of[group] for of in record.values() if group in of]
        sums = (sum(cell[kind] for cell in cells) for kind in KINDS)
        name = ", ".join(f"`{setting}`" for setting in group.split("+"))
        lines.append(f"| {name} | {len(cells)} | {' | '.join(map(str, sums))} |")
    heads = (", ".join(s.partition("=")[0].replace("_", " ") for s in g.split("+")) for g in SETTINGS)
    lines += ["", f"| package | {' | '.join(heads)} |", f"|---{'|---' * len(SETTINGS)}|"]
    for suite, of in sorted(record.items()):
        cells = (short(of[group]) if group in of else "not run" for group in SETTINGS)
        lines.append(f"| {suite.removeprefix('plugins/')} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", not_run(record)]) + "\n"


def not_run(record):
    """A sentence of the packages that have no kept counts under some settings."""
    left = [s.removeprefix("plugins/") for s in packages() if {*SETTINGS} - record.get(s, {}).keys()]
    if not left:
        return f"Each of the {len(packages())} packages was run under all of these settings."
    count = f"{len(left)} of {len(packages())} packages"
    return f"Not run under all of these settings ({count}): {', '.join(left)}."


def short(cell):
    """A run's counts in few signs: ``120``, ``118, 2 marked``, ``30, 3 own (every 4th test)``."""
    words = {"marked": "marked", "own": "own", "library": "of the library"}
    part = f" ({ordinal(cell['every'])} test)" if "every" in cell else ""
    text = ", ".join([str(cell["passed"]), *(f"{cell[k]} {word}" for k, word in words.items() if cell[k])])
    return text + part


def ordinal(n):
    return "every second" if n == 2 else "every third" if n == 3 else f"every {n}th"


def packages():
    """The folders of all packages whose tests run on the CPU."""
    plugins = (str(p.parent.relative_to(ROOT)) for p in ROOT.glob("plugins/*/*/tests"))
    return ["core", *sorted(plugins), "pjrt_cpu"]


def write_page():
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + tables(json.loads(RECORD.read_text())) + END + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suites", nargs="*", help="folders of packages, as plugins/functions/nn")
    parser.add_argument("--all", action="store_true", help="core, every package of plugins/, and pjrt_cpu")
    parser.add_argument("--settings", nargs="+", default=SETTINGS, metavar="NAME=VALUE+NAME=VALUE")
    parser.add_argument("--rows", type=int, default=1, help="of each test with parameters (1)")
    parser.add_argument("--every", type=int, default=1, help="run every n-th test of each package (1)")
    parser.add_argument("--together", type=int, default=6, help="packages in one process (6)")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for each process (1800)")
    parser.add_argument("--failures", action="store_true", help="print the failures of tests' own lines, too")
    parser.add_argument("--record", action="store_true", help="keep the counts in tests/settings/suites.json")
    parser.add_argument("--page", action="store_true", help="run nothing; write the tables to the page")
    options, options.pytest = parser.parse_known_args()
    if options.page:
        return write_page()
    suites = packages() if options.all else [suite.rstrip("/") for suite in options.suites]
    if not suites:
        parser.error("name folders of packages, or --all")
    sums = {settings: Counter() for settings in options.settings}
    for start in range(0, len(suites), options.together):
        some = suites[start : start + options.together]
        for settings in options.settings:
            sums[settings].update(report(some, settings, options))
    heads = *KINDS, "skipped"
    print(f"\n| settings | packages | {' | '.join(heads)} |\n|---{'|---' * (len(heads) + 1)}|")
    for settings, of in sums.items():
        print(f"| {settings} | {len(suites)} | {' | '.join(str(of[kind]) for kind in heads)} |")
    return 1 if any(of["library"] for of in sums.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
