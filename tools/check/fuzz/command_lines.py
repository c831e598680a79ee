"""Command lines at random: each ends with an exit status and, where it is not 0, a sentence that says why.

    python tools/check/fuzz/command_lines.py --count 1000             # all commands that are installed
    python tools/check/fuzz/command_lines.py --only plan,check --from 5000 --count 200
    python tools/check/fuzz/command_lines.py --number 5012            # one, with all that it prints

The options are read from each command's own parser; the values are those that it takes, nearly so, and
nonsense; the files are programs, texts that are none, folders, pipes, links to themselves. What counts as a
fault: an exception, a traceback, more than ``SECONDS``, an exit status that is no small number, and silence
where the status is not 0. A number gives the same command line for everybody.
"""

import argparse
import collections
import contextlib
import io
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unittest.mock
from pathlib import Path

SECONDS = 60
DATA = Path(__file__).resolve().parents[3] / "plugins" / "scale" / "store" / "tests" / "data"
RUNS = ("run-jax", "launch", "passes")  # they run programs, which may end as they like, and may be pipes
LEFT_OUT = ("doctor", "devices")  # their input is the environment: see environments.py
NUMBERS = "0 1 2 3 -1 1.5 1e999 nan 1e-9 99999999999999999999 0x10 ٣ ² +4 1_000 -0 -".split() + ["", " 2 "]
TOPOLOGIES = (
    "cpu:1 cpu:2 cpu:4 cpu:8 cpu:0 cpu:-1 cpu:² cpu:٣ cpu:1e3 cpu:99999999999 cpu: cpu : :: v5e:2x4 v5e:0x4 "
    "v5e v5e:2x v5e:2x4x8x1 h100:8 h100:0 h100:1x32x8 1x2x2 0x0x0 1x32 99999x99999x99999 b100:8 gpu:8 tpu: "
    "cuda/nowhere cuda/ /x tpu/v5e:2x4 CPU:2 cpu:2:2 cpu:2x2 rocm/x"
).split()
MESHES = (
    "data=2 data=1 data=-1 data=2,model=1 data=1,model=2 data=-1,model=-1 data=0 data=² data=٣ data data= "
    "=2 , data=2, data=2,,model=1 data=2,data=1 data=--1 data=1e3 data=99999999999999999999 a.b=2 data=2;x=1"
).split()
WORDS = (
    "a mul plan add data model x.y .. . / -1 --help json os json.tool nowhere:plan :plan plan: a:b:c __main__"
    " \udcff ünïcode \x1b[31m 名 a/b %s {} $HOME class None nan"
).split() + ["", " ", "a b", "a\nb", "x" * 300, "x" * 5000, "../../x"]
PROGRAM = """import rabbet as rb
from rabbet.sharding import NamedSharding, PartitionSpec
AXES = ("data", "model")
def plan(mesh, layout=None):
    spec = PartitionSpec(mesh.axis_names[0])
    at = rb.ShapeDtypeStruct((8, 4), "float32", sharding=NamedSharding(mesh, spec))
    return (lambda x: x * 2.0), (at,)
"""
STRANGE_PLANS = {
    "nothing": "def plan(mesh): return None",
    "raises": "def plan(mesh): raise ValueError('the program has a fault')",
    "exits": "import sys\nsys.exit(3)",
    "number": "plan = 3",
    "no_axes": "def plan(mesh): return (lambda x: x), (1.0,)",
    "wrong_axes": "AXES = 3\n" + PROGRAM.replace("AXES", "OTHER"),
    "wrong_layouts": "LAYOUTS = 7\n" + PROGRAM,
    "wrong_options": "OPTIONS = ['a', 'b']\n" + PROGRAM,
    "strings": PROGRAM.replace("(at,)", "('text',)"),
    "more": PROGRAM.replace("(at,)", "(at, at)"),
    "keywords": PROGRAM.replace("(at,)", "(at,), 5"),
}
TEXTS = {
    "good.py": PROGRAM,
    **{f"plan_{name}.py": text for name, text in STRANGE_PLANS.items()},
    "jax_program.py": "import jax.numpy as jnp\nfrom jax import lax, nowhere\nprint(jnp.nothing)\n",
    "ends.py": "",
    "fails.py": "raise SystemExit(7)\n",
    "prints.py": "import sys\nprint('x' * 10)\nprint(sys.argv)\n",
    "syntax.py": "def f(:\n",
    "zero.py": "a = 1\0\n",
    "latin.py": b"# \xe9\nx = '\xff'\n",
    "coding.py": b"# coding: nowhere\n",
    "deep.py": "(" * 5000 + ")" * 5000,
    "sum.py": "x = " + "+".join(["1"] * 20000),
    "attributes.py": "import jax\njax" + ".a" * 5000,
    "number.py": "x = " + "9" * 10000,
    "mark.py": b"\xef\xbb\xbfimport jax\n",
    "stars.py": "from jax import *\nfrom jax.numpy import *\nimport jax.a.b.c as q\n"
    "from . import x\nfrom .jax import y\n",
    "text.txt": "not a program",
    "noise": bytes(range(256)),
    "data.json": "{",
}


def folder_of_files(where):
    """Files and what looks like some; returns their names as command lines have them."""
    names = []
    for name, content in TEXTS.items():
        (where / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        names.append(name)
    (where / "folder").mkdir()
    (where / "folder" / "inner.py").write_text("import jax\n")
    (where / "strange" / "step-1").mkdir(parents=True)
    (where / "strange" / "step-x").write_text("")
    (where / "strange" / "_METADATA").write_text('{"use_ocdbt": true, "tree_metadata": 3}')
    (where / "folder.py").mkdir()
    for name in ("orbax", "format-1"):
        shutil.copytree(DATA / name, where / name)
    os.mkfifo(where / "pipe.py")
    (where / "itself.py").symlink_to("itself.py")
    (where / "folder" / "up").symlink_to("..")
    (where / "closed.py").write_text("x = 1\n")
    (where / "closed.py").chmod(0)
    rest = "orbax format-1 format-1 orbax folder strange folder.py pipe.py itself.py closed.py absent.py "
    rest += "absent folder/inner.py . /dev/null"
    return [
        *names,
        *rest.split(),
        str(where / "good.py"),
        "good.py/x",
        "good.py:plan",
        "good:plan",
        "good:other",
    ]


def values_of(action, rng, files):
    """One value for an option or argument, mostly of the kind that it takes."""
    name = action.dest
    if rng.random() < 0.08:
        return rng.choice([*WORDS, *NUMBERS, *files])
    if action.choices and rng.random() < 0.85:
        return str(rng.choice(list(action.choices)))
    if action.type in (int, float):
        small = name in ("processes", "max_restarts")
        return rng.choice(["1", "2", "0", "-1", "x", "1.5", "", "²"] if small else NUMBERS)
    for word, pool in {"topology": TOPOLOGIES, "mesh": MESHES}.items():
        if name == word:
            return rng.choice(pool[:4] if rng.random() < 0.5 else pool)
    if name in ("program", "path", "folder", "other", "profile", "json", "picture", "into", "script"):
        return (
            rng.choice(files[:1] * 8 + files) if name == "program" else rng.choice([*files, "out.json", "-"])
        )
    return rng.choice(WORDS)


def command_line(parser, rng, files):
    """Arguments for one command by its parser."""
    given, last = [], []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if action.nargs == argparse.REMAINDER:
            if rng.random() < 0.3:
                rest = [rng.choice([*files, *WORDS, *NUMBERS]) for _ in range(rng.randrange(3))]
                last = [*action.option_strings[:1], *rest]
            continue
        needed = action.required or not action.option_strings
        if rng.random() > (0.95 if needed else 0.22):
            continue
        for _ in range(2 if rng.random() < 0.03 else 1):
            values = [] if action.nargs == 0 else [values_of(action, rng, files)]
            if action.option_strings:
                option = rng.choice(action.option_strings)
                joined = option.startswith("--") and values and rng.random() < 0.3
                given.append([f"{option}={values[0]}"] if joined else [option, *values])
            else:
                given.append(values)
    optional = [each for each in given if each and each[0].startswith("-")]
    places = [each for each in given if not (each and each[0].startswith("-"))]
    rng.shuffle(optional)
    found = [word for each in [*optional, *places, last] for word in each]
    if rng.random() < 0.05:
        found.insert(rng.randrange(len(found) + 1), rng.choice(["--nothing", "-x", "--", "extra", "--help"]))
    if rng.random() < 0.05 and found:
        found.pop(rng.randrange(len(found)))
    return found


class Late(BaseException):
    """It takes too long."""


def late(*_):
    raise Late


def tried(argv, seconds=SECONDS):
    """The fault of a command line, or None; its exit status; and what it printed."""
    from rabbet_cli import command

    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "strict")  # as Python has it
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    path, modules, argv_before, fault, status = sys.path[:], set(sys.modules), sys.argv, None, None
    came, went = os.pipe()
    for end in (came, went):
        os.set_blocking(end, False)
    woken = signal.set_wakeup_fd(went)  # `launch` hears signals itself: those from outside are no fault of it
    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = command.main(argv)
    except SystemExit as ended:
        status = ended.code
    except Late:
        fault = f"it took more than {seconds} s"
    except BaseException as error:
        fault = f"{type(error).__name__}: {error!s:.300}\n{traceback.format_exc()[-1500:]}"
    finally:
        signal.alarm(0)
        signal.set_wakeup_fd(woken)
        with contextlib.suppress(BlockingIOError):
            heard = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} & set(os.read(came, 4096))
            fault = f"this program was sent {signal.Signals(min(heard)).name}" if heard else fault
        os.close(came), os.close(went)
        sys.path[:], sys.argv = path, argv_before
        for name in set(sys.modules) - modules:
            if not hasattr(sys.modules[name], "__file__") or "fuzz-" in str(sys.modules[name].__file__):
                del sys.modules[name]
    said = [stream.buffer.getvalue().decode() if not stream.flush() else "" for stream in (out, err)]
    if fault is None and not (isinstance(status, int) and 0 <= status < 256):
        fault = f"its exit status is {status!r}"
    if fault is None and status and argv[0] not in RUNS and not "".join(said).strip():
        fault = f"nothing is said, and its exit status is {status}"
    shown = "Traceback (most recent" in said[0] + said[1] and argv[0] not in RUNS
    if fault is None and shown and "/fuzz-" not in said[1]:  # that of the program's own lines is shown
        fault = "a traceback"
    return fault, status, said


def main(argv=None):
    """Try as many as were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", help="commands, separated by commas")
    parser.add_argument("--number", type=int)
    options = parser.parse_args(argv)
    from rabbet_cli import command

    known = {**command.COMMANDS, **command.of_packages()}
    names = options.only.split(",") if options.only else sorted(set(known) - set(LEFT_OUT))
    chosen = (
        [options.number]
        if options.number is not None
        else range(options.start, options.start + options.count)
    )
    # `cache clear` empties the folder of compiled programs: not the user's.
    with (
        tempfile.TemporaryDirectory(prefix="cache-") as caches,
        unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=caches),
    ):
        counts, faults = all_tried(chosen, names, known, one_alone=options.number is not None)
    for (name, status), count in sorted(counts.items(), key=str):
        print(f"{name}: {count} ended with {status}")
    print(f"{len(chosen)} command lines, {sum(faults.values())} faults")
    return 1 if faults else 0


def all_tried(chosen, names, known, one_alone):
    """How often each command ended how, and how many faults each had; `one_alone` shows its output."""
    counts, faults, home = collections.Counter(), collections.Counter(), os.getcwd()
    for number in chosen:
        rng = random.Random(f"command line {number}")
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            files = folder_of_files(Path(folder))
            os.chdir(folder)
            began = time.monotonic()
            try:
                name = rng.choice(names)
                one = argparse.ArgumentParser(add_help=True)
                known[name].add_arguments(one)
                line = [name, *command_line(one, rng, files)]
                if name in RUNS:
                    line = [word for word in line if "pipe.py" not in word]
                fault, status, said = tried(line, SECONDS * (3 if name == "launch" else 1))
            finally:
                os.chdir(home)
                (Path(folder) / "closed.py").chmod(0o600)
        if os.environ.get("EACH"):
            print(number, f"{time.monotonic() - began:.1f}", line, status, flush=True)
        counts[name, "fault" if fault else status] += 1
        if one_alone:
            print(line, status, *said, sep="\n")
        if fault:
            faults[name] += 1
            print(f"FOUND {number}: {line!r:.300}\n  {fault}", flush=True)
        if fault and fault.startswith("this program was sent"):
            break
    return counts, faults


if __name__ == "__main__":
    sys.exit(main())
