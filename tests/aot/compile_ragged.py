"""Compile ``lax.ragged_dot`` and its derivatives for hardware that is not here.

    python tests/aot/compile_ragged.py tpu v5e

Prints how many loops and how many ragged products of the compiler's own there are, and bytes of temporary
memory.
"""

import sys

import rabbet as rb
from rabbet import lax


def main(platform, topology):
    struct = rb.ShapeDtypeStruct
    types = struct((1024, 256), "bfloat16"), struct((64, 256, 128), "bfloat16"), struct((64,), "int32")
    loss = lambda *arrays: (lax.ragged_dot(*arrays).astype("float32") ** 2).sum()
    lowered = rb.jit(rb.grad(loss, (0, 1))).trace(*types).lower(platforms=(platform,))
    compiled = lowered.compile(topology=topology)
    text = compiled.as_text()
    ragged = text.count('"is_ragged_dot":true')
    print(text.count(" while("), ragged, compiled.memory_analysis().temp_size_in_bytes)


if __name__ == "__main__":
    main(*sys.argv[1:])
