"""What ``rabbet doctor`` says of faults that are planted into packages: each is named, with its package."""

import itertools
import json
import os
import random
import subprocess
import sys

import pytest

PASS = "from rabbet.extend.passes import Pass\n"
BACKEND = "from rabbet.extend.backend import Backend\n"
HOOK = "from rabbet.extend.hooks import hookimpl\n"
DTYPE = "from rabbet.extend.dtype import DTypeSpec\n"
SAME = "lambda jaxpr, context: jaxpr"
FAULTS = {
    # name: (group, entry point, the module's text, what the report says)
    "raises in a pass": (
        "passes", "grumpy", PASS + "def run(jaxpr, context):\n    raise KeyError('no such rule')\n"
        "X = Pass('grumpy', run)", "KeyError: 'no such rule'",
    ),
    "a pass that loses outputs": (
        "passes", "lossy", PASS + "X = Pass('lossy', lambda j, c: j.replace(outvars=[]))",
        "changed the inputs or outputs",
    ),
    "a pass that is wrong": (
        "passes", "twister", PASS + "from rabbet import lax\nfrom rabbet.extend.passes import Equation, "
        "rewrite_equations\nX = Pass('twister', lambda j, c: rewrite_equations(j, lambda e: Equation("
        "lax.cos.op(), e.inputs, e.outputs, e.where) if e.primitive is lax.exp else None))",
        "changes what the program plain computes",
    ),
    "a pass that ends the process": (
        "passes", "leaver", PASS + "import os\nX = Pass('leaver', lambda j, c: os.abort())", "SIGABRT",
    ),
    "a pass that exits": (
        "passes", "exiter", PASS + "import os\nX = Pass('exiter', lambda j, c: os._exit(7))", "status 7",
    ),
    "no pass": ("passes", "nopass", "X = 5", "nopass"),
    "a second cse": ("passes", "cse", PASS + f"X = Pass('cse', {SAME})", "2 packages offer 'cse'"),
    "an import that raises": ("passes", "absent", "import no_such_module", "no_such_module"),
    "a hook that raises": (
        "hooks", "noisy", HOOK + "@hookimpl\ndef compile_finished(seconds):\n    raise ValueError('loud')",
        "ValueError: loud",
    ),
    "a hook that ends the process": (
        "hooks", "fatal", HOOK + "import os\n@hookimpl\ndef cache_hit(name):\n    os.abort()", "SIGABRT",
    ),
    "a hook with an unknown fact": (
        "hooks", "curious", HOOK + "@hookimpl\ndef cache_hit(colour):\n    pass", "colour",
    ),
    "no hooks": ("hooks", "silent", "X = 1", "hookimpl"),
    "a backend that raises": (
        "backends", "sad", BACKEND + "def make(options):\n    raise OSError('no driver')\n"
        "X = Backend('sad', -5, make)", "no driver",
    ),
    "a backend that says nothing": (
        "backends", "mute", BACKEND + "def make(options):\n    raise RuntimeError()\n"
        "X = Backend('mute', -5, make)", "raised RuntimeError()",
    ),
    "a backend that aborts": (
        "backends", "bomb", BACKEND + "import os\nX = Backend('bomb', -5, lambda options: os.abort())",
        "SIGABRT",
    ),
    "an obstacle that is no text": (
        "backends", "odd", BACKEND + "X = Backend('odd', -5, dict, obstacle=lambda: 5)", "returned 5",
    ),
    "a backend of another name": (
        "backends", "alias", BACKEND + "X = Backend('other', -5, None)", "alias",
    ),
    "a second cpu": ("backends", "cpu", BACKEND + "X = Backend('cpu', 9, None)", "2 packages offer 'cpu'"),
    "a dtype that does not fit": (
        "dtypes", "weird", DTYPE + "X = DTypeSpec('weird', 'int8', None, 'q')", "weird",
    ),
    "a group that nobody reads": ("pases", "mine", "X = 1", "did you mean rabbet.passes?"),
}  # fmt: skip


def plant(folder, names):
    """Packages with faults, as an installer leaves them."""
    for name in names:
        group, point, text, _ = FAULTS[name]
        module = f"planted_{list(FAULTS).index(name)}"
        (folder / f"{module}.py").write_text(text)
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        value = module if group == "hooks" else f"{module}:X"
        (info / "entry_points.txt").write_text(f"[rabbet.{group}]\n{point} = {value}\n")


# What faults are planted beside, alone and in pairs: half of the time that all packages take.
BESIDE = ("rabbet-cli", "rabbet-pjrt-cpu", "rabbet-passes", "rabbet-jit")


def report(folder, names=None):
    """What the doctor finds broken, as text; with the ``names`` of faults, where little else is installed."""
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    env.pop("RABBET_PLATFORMS", None)
    if names is not None:
        planted = [f"planted_{list(FAULTS).index(name)}" for name in names]
        env["RABBET_PLUGINS"] = ",".join([*BESIDE, *planted])
    command = [sys.executable, "-W", "ignore", "-m", "rabbet", "doctor", "--json"]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert ran.stdout, ran.stderr[-2000:]
    found = json.loads(ran.stdout)["checks"]
    return [f"{check['label']}: {check['detail']}" for check in found if check["ok"] is False], found


def missing(names, said):
    """Those faults of which no line of the report speaks."""
    return [name for name in names if not any(FAULTS[name][3] in line for line in said)]


FEW = (
    "raises in a pass",
    "a hook that ends the process",
    "a backend that aborts",
    "a second cse",
    "a second cpu",
)


@pytest.mark.needs("cpu", "cse")
def test_planted_faults_are_named_and_rabbets_own_keep_their_names(tmp_path):
    plant(tmp_path, FEW)
    said, found = report(tmp_path)
    assert missing(FEW, said) == []
    assert {"passes.cse", "devices of cpu"} <= {check["label"] for check in found if check["ok"]}


@pytest.mark.exhaustive
@pytest.mark.needs("cpu")
def test_every_planted_fault_is_named_at_once(tmp_path):
    plant(tmp_path, FAULTS)
    said, found = report(tmp_path)
    assert missing(FAULTS, said) == []
    well = {check["label"] for check in found if check["ok"]}
    assert {"passes.cse", "devices of cpu"} <= well  # Rabbet's own keep their names


PAIRS = list(itertools.combinations(FAULTS, 2))


@pytest.mark.exhaustive
@pytest.mark.needs("cpu", "cse")
@pytest.mark.parametrize("names", [*itertools.combinations(FAULTS, 1), *PAIRS], ids=" + ".join)
def test_every_planted_fault_is_named_alone_and_beside_another(tmp_path, names):
    plant(tmp_path, names)
    said, _ = report(tmp_path, names)
    assert missing(names, said) == []


@pytest.mark.parametrize("names", random.Random(0).sample(PAIRS, 2), ids=" + ".join)
@pytest.mark.needs("cpu", "cse")
def test_some_pairs_of_planted_faults_are_named(tmp_path, names):
    plant(tmp_path, names)
    said, _ = report(tmp_path, names)
    assert missing(names, said) == []
