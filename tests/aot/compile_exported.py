"""Export a program with kernels for TPUs, read it back, and compile it for one; print the size in bytes."""

import sys
from pathlib import Path

import rabbet as rb
from rabbet import export

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))

import rows

SIZE = 12


def main():
    group = [row for row in rows.ROWS.values() if "tpu" in row.targets][:SIZE]

    def together(arguments):
        return [row.function(*own) for row, own in zip(group, arguments, strict=True)]

    types = [row.types for row in group]
    blob = export.export(rb.jit(together), platforms=["tpu"])(types).serialize()
    found = export.deserialize(blob)
    assert str(found.mlir_module()).count("serialization_format") >= len(group)
    compiled = rb.jit(found.call).trace(types).lower(platforms=("tpu",)).compile(topology="v5e:2x2")
    print(len(compiled.serialize()))


if __name__ == "__main__":
    main()
