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

All of it takes hours, so it can be done in pieces. `--known FILE` keeps how each test ended under each group
of settings; a test that stands there is not run again (with `--again` only if it did not fail), and counts
are those of all that is known. `--seconds` ends a process after the test under way then; the rest is "left".

    python tools/check/suites_under_settings.py plugins/functions/nn plugins/functions/image
    python tools/check/suites_under_settings.py --settings debug_nans=1 --rows 3 --all
    python tools/check/suites_under_settings.py --failures plugins/functions/numpy     # those of tests, too
    python tools/check/suites_under_settings.py --record plugins/functions/nn
    python tools/check/suites_under_settings.py --record --known FILE --seconds 600 core
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
KINDS = "passed", "marked", "slow", "own", "library"
WORSE = "passed", "skipped", "marked", "slow", "own", "library"
# What a setting says stands there, whoever asked; what helps tests to compute speaks for them.
SPEAKERS = re.compile(
    r"core/src/rabbet/(lax|dtypes|rules|trace|runtime|program|messages|config)/|plugins/tooling/test\w+/src/"
)
FRAME = re.compile(r"^(\S+\.py):(\d+): (?:in |\w)")
MARKED = re.compile(r"about what \w[\w, ]* forbids|about numbers where 64 bits are off")


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
    """What the tests of one package came to under some settings, from the lines of suites/outcomes.py."""

    def __init__(self):
        self.there = set()  # all tests of the package that this run would have, known or not
        self.ended = {}  # {test: (kind, place, error)}; of several, such as an error after it, the worst
        self.under_way = set()
        self.seconds = {}

    def add(self, kind, test, text=""):
        if kind == "there":
            self.there.add(test)
        elif kind == "began":
            self.under_way.add(test)
        elif kind == "done":
            self.under_way.discard(test)
            self.seconds[test] = float(text)
        elif kind in ("passed", "slow"):
            self.end(test, kind)
        elif kind == "skipped":
            self.end(test, "marked" if MARKED.fullmatch(text) else "skipped")
        else:
            place, error = cause(text)
            self.end(test, "library" if is_of_library(place, error) else "own", place, error)

    def end(self, test, kind, place="", error=""):
        if test not in self.ended or WORSE.index(kind) > WORSE.index(self.ended[test][0]):
            self.ended[test] = kind, place, error

    def stopped(self, trouble):
        """The process did not come to its end: by the test that it was at, so that it is not met again."""
        for test in sorted(self.under_way):
            self.end(test, "library", "", trouble)

    @property
    def left(self):
        return len(self.there - self.ended.keys())

    @property
    def sums(self):
        kinds = [kind for kind, *_ in self.ended.values()]
        return Counter({kind: kinds.count(kind) for kind in {*KINDS, *kinds}})


class Known:
    """How tests ended in this run and earlier ones, in a file of one line of JSON each, if one is named."""

    def __init__(self, path):
        self.path = path
        self.ended = {}  # {(settings, test): (kind, place, error)}
        if path and path.exists():
            for line in path.read_text().splitlines():
                settings, test, *how = json.loads(line)
                self.ended[settings, test] = tuple(how)

    def of(self, settings, suite, again):
        """``{test: (kind, place, error)}`` of what need not run."""
        rerun = ("slow", "own", "library") if again else ()
        mine = ((test, how) for (s, test), how in self.ended.items() if s == settings)
        return {test: how for test, how in mine if test.startswith(f"{suite}/") and how[0] not in rerun}

    def add(self, settings, ended):
        lines = [json.dumps([settings, test, *how]) + "\n" for test, how in ended.items()]
        self.ended.update({(settings, test): how for test, how in ended.items()})
        if self.path:
            with self.path.open("a") as file:
                file.writelines(lines)


def sorted_out(lines, suites):
    """``{package: Outcomes}`` of the lines of one process."""
    found = {suite: Outcomes() for suite in suites}
    for line in lines:
        kind, test, *text = json.loads(line)
        for suite in suites:
            if test.startswith(f"{suite}/"):
                found[suite].add(kind, test, *text)
    return found


def outcomes(suites, settings, options, known):
    """Run the tests of some packages, without those that are known, in one process under a group of settings.

    Returns ``{package: Outcomes}`` and how the process ended: "" or a sentence of what went wrong.
    """
    own = {f"RABBET_{s.partition('=')[0].upper()}": s.partition("=")[2] for s in settings.split("+")}
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()
    with tempfile.TemporaryDirectory() as folder:
        log, list_of_known = Path(folder) / "outcomes", Path(folder) / "known"
        log.touch()
        list_of_known.write_text("".join(f"{test}\n" for test in known))
        path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
        environment = {
            **os.environ, **own, "XLA_FLAGS": flags, "RABBET_TRACEBACK": "full", "PYTHONPATH": path,
            "RABBET_TEST_ROWS": str(options.rows), "OUTCOMES": str(log), "OUTCOMES_EVERY": str(options.every),
            "OUTCOMES_KNOWN": str(list_of_known), "OUTCOMES_SECONDS": str(options.seconds),
            "OUTCOMES_LIMIT": str(options.limit), "OUTCOMES_EXAMPLES": str(options.examples),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
        command += ["--continue-on-collection-errors", "-p", "suites.outcomes", "-m", "not exhaustive"]
        trouble = ""
        try:
            run = subprocess.run(
                [*command, *suites, *options.pytest], cwd=ROOT, env=environment, capture_output=True,
                text=True, check=False, timeout=options.timeout,
            )  # fmt: skip
            if run.returncode not in (0, 1, 2, 5):  # 2: its seconds were over, 5: nothing runs here
                last = (run.stderr.strip() or run.stdout.strip())[-300:]
                trouble = f"the process ended with {run.returncode}: {last}"
        except subprocess.TimeoutExpired:
            trouble = f"not done after {options.timeout} s"
        return sorted_out(log.read_text().splitlines(), suites), trouble


def report(suites, settings, options, known):
    """Run packages under a group of settings, print what came of each, keep it, return the counts of all."""
    total = Counter()
    before = {suite: known.of(settings, suite, options.again) for suite in suites}
    found, trouble = outcomes(suites, settings, options, [test for some in before.values() for test in some])
    if trouble and not any(of.under_way for of in found.values()):
        print(f"{' '.join(suites)} {settings}: {trouble}", flush=True)
        total["library"] += 1
    for suite, of in found.items():
        if trouble:
            of.stopped(trouble)
        known.add(settings, of.ended)
        of.ended.update({test: how for test, how in before[suite].items() if test in of.there})
        words = [f"{count} {kind}" for kind, count in of.sums.items() if count]
        words += [f"{of.left} left"] if of.left else []
        print(f"{suite} {settings}: {', '.join(words) or 'no tests'}", flush=True)
        for test, (kind, place, error) in of.ended.items():
            if kind in ("library", "slow") or (kind == "own" and options.failures):
                print(f"  {kind}: {test}\n    {place}: {error}", flush=True)
        total.update(of.sums)
        if options.record and of.there:
            keep(suite, settings, {kind: of.sums[kind] for kind in KINDS}, of.left)
    return total


def keep(suite, settings, sums, left):
    """Put the counts of one run into the record, in place of those of an earlier run."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    record.setdefault(suite, {})[settings] = {**sums, "left": left} if left else sums
    rows = (
        f'  "{name}": {{\n' + ",\n".join(f'    "{s}": {json.dumps(of[s])}' for s in sorted(of)) + "\n  }"
        for name, of in sorted(record.items())
    )
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def tables(record):
    """The counts of the record as tables in Markdown: by group of settings, and by package."""
    heads = "packages", "whole", "passed", "marked", "slow", "failed by what the test writes"
    lines = [f"| settings | {' | '.join(heads)} | failed in the library |", f"|---{'|---' * 7}|"]
    for group in SETTINGS:
        cells = [of[group] for of in record.values() if group in of]
        sums = (sum(cell.get(kind, 0) for cell in cells) for kind in KINDS)
        name = ", ".join(f"`{setting}`" for setting in group.split("+"))
        whole = sum(not {"left", "every"} & cell.keys() for cell in cells)
        lines.append(f"| {name} | {len(cells)} | {whole} | {' | '.join(map(str, sums))} |")
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
    """A run's counts in few signs: ``120``, ``118, 2 marked``, ``30, 3 own (90 not run)``."""
    words = {"marked": "marked", "slow": "slow", "own": "own", "library": "of the library"}
    beside = (f"{cell[kind]} {word}" for kind, word in words.items() if cell.get(kind))
    text = ", ".join([str(cell["passed"]), *beside])
    if "every" in cell:  # of an earlier way to leave some out
        return f"{text} (one in {cell['every']})"
    return text + (f" ({cell['left']} not run)" if "left" in cell else "")


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
    parser.add_argument("--known", type=Path, metavar="FILE", help="how tests ended; those do not run again")
    parser.add_argument("--again", action="store_true", help="those that failed do run again")
    parser.add_argument("--seconds", type=int, default=0, help="begin no test after so many, in each process")
    parser.add_argument("--examples", type=int, default=5, help="of each test with generated examples (5)")
    parser.add_argument("--limit", type=int, default=120, help="seconds of one test (120); then it is slow")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds until a process is killed (1800)")
    parser.add_argument("--failures", action="store_true", help="print the failures of tests' own lines, too")
    parser.add_argument("--record", action="store_true", help="keep the counts in tests/settings/suites.json")
    parser.add_argument("--page", action="store_true", help="run nothing; write the tables to the page")
    options, options.pytest = parser.parse_known_args()
    if options.page:
        return write_page()
    suites = packages() if options.all else [suite.rstrip("/") for suite in options.suites]
    if not suites:
        parser.error("name folders of packages, or --all")
    sums, known = {settings: Counter() for settings in options.settings}, Known(options.known)
    for start in range(0, len(suites), options.together):
        some = suites[start : start + options.together]
        for settings in options.settings:
            sums[settings].update(report(some, settings, options, known))
    heads = *KINDS, "skipped"
    print(f"\n| settings | packages | {' | '.join(heads)} |\n|---{'|---' * (len(heads) + 1)}|")
    for settings, of in sums.items():
        print(f"| {settings} | {len(suites)} | {' | '.join(str(of[kind]) for kind in heads)} |")
    return 1 if any(of["library"] for of in sums.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
