"""Run random programs in several ways that must agree; write each one that does not, made small.

    python tools/check/fuzz                           # 100 programs, from a random number on
    python tools/check/fuzz --from 5000 --count 1000  # these; a number always gives the same program
    python tools/check/fuzz --program 5123            # one, with its text and in all ways
    python tools/check/fuzz --text FILE --ways eager,jitted

The ways are in ``ways.py``: called op by op, jitted, with ``disable_jit``, with the checker on, through the
bytes of a compiled program, mapped, and their gradients; also jax's, where jax is installed. Each batch of
programs runs in a process of its own, so that a crash is a finding like any other.
"""

import argparse
import importlib.util
import os
import random
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.programs import source
from fuzz.reduction import reduced

BATCH = 25
FACE = '''"""Found by tools/check/fuzz: program {number}.

{error}
"""
'''


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="start", type=int, help="the first program's number")
    parser.add_argument("--count", type=int, default=100, help="how many programs (100)")
    parser.add_argument("--program", type=int, help="one program, in all ways")
    parser.add_argument("--text", type=Path, help="a file with a program's text")
    parser.add_argument(
        "--ways", help="names of ways, separated by commas (a few at random, by the program's number)"
    )
    parser.add_argument("--into", type=Path, default=Path("fuzz-findings"), help="folder for what is found")
    parser.add_argument("--seconds", type=float, default=120, help="time to make one finding small (120)")
    parser.add_argument("--without-jax", action="store_true", help="do not compare with jax")
    parser.add_argument("--batch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.start is None:
        options.start = random.SystemRandom().randrange(10**6) * 1000
    options.jax = not options.without_jax and importlib.util.find_spec("jax") is not None
    options.into.mkdir(parents=True, exist_ok=True)
    if options.batch:
        return batch(options)
    if options.program is not None or options.text is not None:
        text = options.text.read_text() if options.text else source(options.program)
        return 1 if tried(text, options.program or 0, options, everything=True) else 0
    return batches(options)


def batches(options):
    """Run the programs in child processes; what is printed says how many disagreed."""
    command = [sys.executable, str(Path(__file__).resolve().parent), *sys.argv[1:]]
    found, refused, started = 0, 0, time.monotonic()
    beside = ", beside jax" if options.jax else ""
    print(f"programs {options.start} to {options.start + options.count - 1}{beside}", flush=True)
    for first in range(options.start, options.start + options.count, BATCH):
        count = min(BATCH, options.start + options.count - first)
        done = subprocess.run(
            [*command, "--batch", "--from", str(first), "--count", str(count)],
            env={"TF_CPP_MIN_LOG_LEVEL": "3", "TPU_SKIP_MDS_QUERY": "1", **os.environ},
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        for line in done.stdout.splitlines():
            found += line.startswith("FOUND")
            refused += line.startswith("refused")
            if line.startswith("FOUND"):
                print(line, flush=True)
        if done.returncode:
            found += 1
            what = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
            print(f"FOUND {what} ended the process at {options.into / 'running.py'}", flush=True)
    seconds = time.monotonic() - started
    print(f"{options.count} programs in {seconds:.0f} s, {refused} of them no programs, {found} findings")
    return 1 if found else 0


def batch(options):
    for number in range(options.start, options.start + options.count):
        text = source(number)
        (options.into / "running.py").write_text(text)
        tried(text, number, options)
    return 0


def tried(text, number, options, everything=False):
    """Try one program; on failure make it small and write it. Returns whether it failed."""
    from fuzz import ways

    ways.quickly(options.jax)
    names = options.ways.split(",") if options.ways else ways.chosen(text, number, options.jax, everything)
    error = failure(ways, text, names, options)
    if error is None:
        return False
    if isinstance(error, ways.NoProgram):
        print(f"refused {number}: {first_line(error)}", flush=True)
        return False
    kind, deadline = kind_of(error), time.monotonic() + options.seconds

    def fails_alike(shorter):
        again = failure(ways, shorter, names, options) if time.monotonic() < deadline else None
        return again is not None and kind_of(again) == kind

    small = reduced(text, fails_alike)
    error = failure(ways, small, names, options) or error
    path = options.into / f"program_{number}.py"
    path.write_text(FACE.format(number=number, error=str(error).replace("\\", "/")) + small)
    print(f"FOUND {path}: {type(error).__name__}: {first_line(error)}", flush=True)
    if everything:
        print(small)
        traceback.print_exception(error)
    return True


def failure(ways, text, names, options):
    """The error of a program, or None."""
    try:
        ways.compare(text, names, with_jax=options.jax)
    except Exception as error:
        return error
    return None


def first_line(error):
    return (str(error).splitlines() or [""])[0][:200]


def kind_of(error):
    """What two failures have in common if they are one fault: the type and the words of the first line."""
    return type(error).__name__, re.sub(r"[\d\W]+|\b[gvprw]\d+\b", " ", first_line(error))[:60]


if __name__ == "__main__":
    sys.exit(main())
