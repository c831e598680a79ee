"""Compile the gradient of attention for hardware that is not here, and print what memory it needs.

    python tests/aot/compile_attention.py cuda h100

A line for each: the length, the implementation, bytes of temporary memory.
"""

import sys

import rabbet as rb


def needed(platform, topology, length, implementation, gradient, dtype="bfloat16", size=128):
    x = rb.ShapeDtypeStruct((1, length, 4, size), dtype)

    def attention(q, k, v):
        return rb.nn.dot_product_attention(q, k, v, is_causal=True, implementation=implementation)

    loss = lambda q, k, v: attention(q, k, v).astype("float32").sum()
    f = rb.grad(loss, (0, 1, 2)) if gradient else attention
    lowered = rb.jit(f).trace(x, x, x).lower(platforms=(platform,))
    return lowered.compile(topology=topology).memory_analysis().temp_size_in_bytes


def main(platform, topology):
    for length, implementation in ((1024, None), (4096, None), (4096, "xla")):
        found = needed(platform, topology, length, implementation, gradient=True)
        print(length, implementation or "kernels", found, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
