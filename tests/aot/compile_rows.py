"""Compile rows of the conformance table for hardware that is not here, one JSON line per event.

    echo '[["elementwise", [0, 1, 2]], ["indexing", [3]]]' | python tests/aot/compile_rows.py tpu v5e:2x2

Standard input has groups of rows, by their family and their places in it. The rows of a group are compiled as
one program, each with results of its own, in its main dtype; one that is refused is tried again in halves. A
line is written before a group is begun, so that whoever reads them knows which one ended the process.
"""

import json
import sys

import rabbet as rb
from rabbet.testing import rows


def main(platform, topology):
    groups = json.load(sys.stdin)
    while groups:
        family, places = group = groups.pop(0)
        tell(group=group, state="begun")
        try:
            compile_together([rows.family(family)[i] for i in places], platform, topology)
        except Exception as error:
            half = len(places) // 2
            if half:
                groups += [[family, places[:half]], [family, places[half:]]]
            tell(group=group, state="refused", reason=f"{type(error).__name__}: {error}")
        else:
            tell(group=group, state="compiled")


def compile_together(group, platform, topology):
    functions = [row.function(row.main_dtype()) for row in group]
    arguments = [row.draw(row.main_dtype()) for row in group]

    def together(arguments):
        return [f(*args) for f, args in zip(functions, arguments, strict=True)]

    rb.jit(together).trace(arguments).lower(platforms=(platform,)).compile(topology=topology)


def tell(**event):
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
