"""Compile the rows of ``tests/kernels/rows.py`` for hardware that is not here.

    python tests/aot/compile_kernels.py triton h100

Prints a line for each row: "compiled NAME", or "refused NAME" with the reason. Many rows become one
program, which takes a fraction of the time; where it is refused, its halves are tried.
"""

import sys
from pathlib import Path

import rabbet as rb

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))

import rows

PLATFORMS = {"triton": "cuda", "tpu": "tpu"}
SIZE = 12


def compiled(group, platform, topology):
    def together(arguments):
        return [row.function(*own) for row, own in zip(group, arguments, strict=True)]

    types = [row.types for row in group]
    return rb.jit(together).trace(types).lower(platforms=(platform,)).compile(topology=topology)


def tried(group, platform, topology):
    try:
        compiled(group, platform, topology)
    except Exception as error:
        if len(group) == 1:
            print(
                "refused",
                group[0].name,
                type(error).__name__,
                " | ".join(str(error).splitlines()),
                flush=True,
            )
            return
        half = len(group) // 2
        tried(group[:half], platform, topology)
        tried(group[half:], platform, topology)
    else:
        for row in group:
            print("compiled", row.name, flush=True)


def main(target, topology, names=()):
    chosen = [r for r in rows.ROWS.values() if target in r.targets and (not names or r.name in names)]
    for i in range(0, len(chosen), SIZE):
        tried(chosen[i : i + SIZE], PLATFORMS[target], topology)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
