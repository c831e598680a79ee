"""Compile the rows of ``tests/kernels/rows.py`` for hardware that is not here.

    python tests/aot/compile_kernels.py triton h100,a100

Prints a line for each row and topology: "compiled TOPOLOGY NAME", or "refused TOPOLOGY NAME" with the reason.
Many rows become one program, which takes a fraction of the time; where it is refused, its halves are tried. A
program is traced and lowered once for all topologies.
"""

import sys
from pathlib import Path

import rabbet as rb

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))

import rows

PLATFORMS = {"triton": "cuda", "tpu": "tpu"}
SIZE = 12


def lowered(group, platform):
    def together(arguments):
        return [row.function(*own) for row, own in zip(group, arguments, strict=True)]

    return rb.jit(together).trace([row.types for row in group]).lower(platforms=(platform,))


def tried(group, platform, topologies):
    """Compile a group for each topology; where one refuses it, its halves for that one."""
    refused = {}
    try:
        program = lowered(group, platform)
    except Exception as error:
        refused = dict.fromkeys(topologies, error)
    else:
        for topology in topologies:
            try:
                program.compile(topology=topology)
            except Exception as error:
                refused[topology] = error
            else:
                for row in group:
                    print("compiled", topology, row.name, flush=True)
    if len(group) > 1 and refused:
        half = len(group) // 2
        tried(group[:half], platform, list(refused))
        tried(group[half:], platform, list(refused))
        return
    for topology, error in refused.items():
        said = " | ".join(str(error).splitlines())
        print("refused", topology, group[0].name, type(error).__name__, said, flush=True)


def main(target, topologies, names=()):
    chosen = [r for r in rows.ROWS.values() if target in r.targets and (not names or r.name in names)]
    for i in range(0, len(chosen), SIZE):
        tried(chosen[i : i + SIZE], PLATFORMS[target], topologies.split(","))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
