"""Compile the gradient of attention for hardware that is not here, and print what memory it needs.

    python tests/aot/compile_attention.py cuda h100 [table|cudnn]

A line for each: the length, the implementation, bytes of temporary memory. With ``table`` a line for each
size of heads and dtype, of a gradient with all that kernels offer.
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


def table(platform, topology):
    """Gradients of causal attention with a bias, segments, lengths and grouped heads."""
    for size in (64, 96, 128, 256):
        for dtype in ("bfloat16", "float16", "float32"):
            struct = rb.ShapeDtypeStruct
            q, k = struct((2, 256, 4, size), dtype), struct((2, 256, 2, size), dtype)
            bias, ids = struct((1, 4, 256, 256), dtype), struct((2, 256), "int32")
            lengths = struct((2,), "int32")

            def loss(q, k, v, bias, ids, lengths):
                more = {"segment_ids": ids, "key_value_seq_lengths": lengths, "is_causal": True}
                return rb.nn.dot_product_attention(q, k, v, bias, **more).astype("float32").sum()

            f = rb.jit(rb.grad(loss, (0, 1, 2, 3))).trace(q, k, k, bias, ids, lengths)
            lowered = f.lower(platforms=(platform,))
            kernels = sum([lowered.as_text().count(c) for c in ("@__gpu$xla.gpu.triton", "@tpu_custom_call")])
            lowered.compile(topology=topology)
            print(size, dtype, "kernels", kernels, flush=True)


def cudnn(topology):
    """Whether the compiler takes the calls of cuDNN: a line with the number of them that it leaves."""
    x, b = rb.ShapeDtypeStruct((2, 256, 4, 64), "float16"), rb.ShapeDtypeStruct((1, 4, 256, 256), "float16")

    def loss(q, k, v, b):
        more = {"implementation": "cudnn", "is_causal": True}
        return rb.nn.dot_product_attention(q, k, v, b, **more).astype("float32").sum()

    lowered = rb.jit(rb.grad(loss, (0, 1, 2, 3))).trace(x, x, x, b).lower(platforms=("cuda",))
    print(lowered.compile(topology=topology).as_text().count('custom_call_target="__cudnn$fmhaScaleBias'))


if __name__ == "__main__":
    if sys.argv[3:] == ["cudnn"]:
        cudnn(sys.argv[2])
    else:
        (table if "table" in sys.argv else main)(*sys.argv[1:3])
