"""The five programs of examples/parallel, compiled for eight TPUs that are not here: what they send is what
they say.

In a process of its own, which a compiler may end.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples/parallel"
NAMES = ["data", "tensor", "sequence", "pipeline", "expert"]
PROGRAM = """
import json, sys
from rabbet import planning
from rabbet_plan.programs import load

for name in sys.argv[2:]:
    program = load(f"{sys.argv[1]}/{name}_parallel.py")
    mesh = planning.topology("v5e:2x4").mesh(dict.fromkeys(program.axes, 8))
    step, arguments, _ = program.step(mesh)
    sent = {}
    for each in planning.plan(step, *arguments).exchanges:
        assert each.axes == program.axes, each
        times, size = sent.get(each.kind, (0, 0))
        sent[each.kind] = (times + each.count, size + each.bytes)
    print(json.dumps([name, sent, sys.modules[name + "_parallel"].sends(8)]), flush=True)
"""


@pytest.mark.needs("cpu", "tpu", "numpy", "grad", "sharding", "planning")
@pytest.mark.skipif(not FOLDER.exists(), reason="the examples are in the repository")
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="libtpu is not installed")
def test_what_is_sent_between_eight_tpus():
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(FOLDER), *NAMES], capture_output=True, text=True, timeout=300,
        check=False, env={**os.environ, "RABBET_PLATFORMS": "", "RABBET_CACHE": "0"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:]
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [name for name, _, _ in rows] == NAMES
    for name, found, wanted in rows:
        assert found.keys() == wanted.keys(), name
        for kind, (times, size) in wanted.items():
            assert found[kind][0] == times, (name, kind, found)
            # What goes into a product is rounded to bfloat16, and may be sent so: as half of the bytes.
            assert size / 2 <= found[kind][1] <= size, (name, kind, found)
            if kind == "all-reduce":
                assert found[kind][1] == size, (name, kind, found)
