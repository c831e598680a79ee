"""Every plugin's own tests under settings that check programs: which failures are the library's own?

A test may break a setting by what it writes itself, such as ``float32 + int32`` under strict promotion. So a
failure counts only where the innermost line outside of core's operators is the library's, or where the
numbers differ. Tests that are about what a setting forbids say so, by the marker `forbidden`. A suite under
one setting takes minutes: the environment `suites` runs them all, at night.

    python tools/check/suites_under_settings.py plugins/functions/nn plugins/functions/image
    python tools/check/suites_under_settings.py --settings debug_nans=1 --all
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (
    "numpy_rank_promotion=raise", "numpy_dtype_promotion=strict", "enable_x64=1", "debug_nans=1",
    "debug_infs=1",
    "check_tracer_leaks=1", "transfer_guard=disallow", "explicit_x64_dtypes=error", "disable_jit=1",
)  # fmt: skip
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


def report(suite, setting, options):
    """Print what came of one suite under one setting; how many failures are the library's."""
    name, _, value = setting.partition("=")
    environment = {**os.environ, f"RABBET_{name.upper()}": value, "RABBET_TRACEBACK": "full"}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-m", "not exhaustive", suite, *options]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    found = failures(run.stdout)
    own = [one for one in found if is_of_library(*one[1:])]
    last = run.stdout.strip().splitlines()[-1:] or [run.stderr.strip()[-100:]]
    print(f"{suite} {setting}: {last[0]}; {len(own)} in the library", flush=True)
    for test, place, error in own:
        print(f"  {test}\n    {place}: {error}")
    return len(own) if run.returncode in (0, 1) else max(len(own), 1)  # others: no tests ran, or not all


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suites", nargs="*", help="folders of packages, as plugins/functions/nn")
    parser.add_argument("--all", action="store_true", help="every package of plugins/")
    parser.add_argument("--settings", nargs="+", default=SETTINGS, metavar="NAME=VALUE")
    args, options = parser.parse_known_args()
    every = sorted(str(p.parent.relative_to(ROOT)) for p in ROOT.glob("plugins/*/*/tests"))
    suites = every if args.all else args.suites
    if not suites:
        parser.error("name folders of packages, or --all")
    return 1 if sum(report(s, setting, options) for s in suites for setting in args.settings) else 0


if __name__ == "__main__":
    sys.exit(main())
