"""The five programs of examples/parallel, compiled for eight TPUs that are not here.

They send as often as they say, and no more bytes: the TPU's compiler sends some of it as bfloat16, the
precision in which it multiplies.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("jit", "numpy", "grad", "shard_map")
FOLDER = Path(__file__).parents[2] / "examples/parallel"
PROGRAM = """
import json, sys
from rabbet import planning
from rabbet_plan.programs import load

program = load(sys.argv[1])
module = sys.modules[sys.argv[1].rpartition("/")[2].removesuffix(".py")]
mesh = planning.topology("v5e:2x4").mesh(dict.fromkeys(program.axes, 8))
step, arguments, _ = program.step(mesh)
found = [(e.kind, e.count, e.bytes) for e in planning.plan(step, *arguments).exchanges]
print(json.dumps([found, module.sends(8)]))
"""


@pytest.mark.parametrize("name", ["data", "tensor", "sequence", "pipeline", "expert"])
def test_what_is_sent_on_eight_tpus(platform, name):
    if platform != "tpu":
        pytest.skip("the topology is one of TPUs")
    command = [sys.executable, "-c", PROGRAM, str(FOLDER / f"{name}_parallel.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found, said = json.loads(ran.stdout.splitlines()[-1])
    total = {}
    for kind, count, size in found:
        times, bytes_so_far = total.get(kind, (0, 0))
        total[kind] = times + count, bytes_so_far + size
    assert {kind: count for kind, (count, _) in total.items()} == {
        kind: count for kind, (count, _) in said.items()
    }
    for kind, (_, size) in said.items():
        assert size / 2 <= total[kind][1] <= size, (kind, total[kind][1], size)
