"""Compile programs on floats of 8, 6 and 4 bits and on ints of 4 and 2 for hardware that is not here.

    python tests/aot/compile_few_bits.py tpu v5e:2x2

Prints the name of each program that was compiled, and of each that was refused with the reason.
"""

import sys

import rabbet as rb
from rabbet import lax
from rabbet.experimental import float8, int4

FLOATS = (
    "float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz float8_e3m4 float8_e4m3 "
    "float8_e8m0fnu float4_e2m1fn float6_e2m3fn float6_e3m2fn"
).split()
INTS = "int4 uint4 int2 uint2".split()
F32, I32 = rb.ShapeDtypeStruct((64, 64), "float32"), rb.ShapeDtypeStruct((64, 64), "int32")


def programs():
    """(name, function, types of its arguments)."""
    for small, wide in [*[(n, F32) for n in FLOATS], *[(n, I32) for n in INTS]]:
        there_and_back = lambda x, small=small, wide=wide: x.astype(small).astype(wide.dtype)
        yield f"convert {small}", there_and_back, (wide,)
        product = lambda x, y, small=small, wide=wide: lax.dot(
            x.astype(small), y.astype(small), preferred_element_type=wide.dtype
        )
        yield f"dot {small}", product, (wide, wide)
        yield f"argument {small}", lambda x: lax.neg(x), (rb.ShapeDtypeStruct((64, 64), small),)
    yield "float8.dot", gradient(float8.dot), (F32, F32)
    for mode in ("mxfp8", "mxfp4", "nvfp4"):
        yield mode, gradient(lambda x, y, mode=mode: scaled(x, y, mode)), (F32, F32)
    yield "int4.matmul", lambda x, w: int4.matmul(x, int4.quantize(w)), (F32, F32)


def scaled(x, y, mode):
    configs = [float8.get_scaled_dot_general_config(mode)] * 3
    return float8.scaled_dot_general(x, y, (((1,), (1,)), ((), ())), configs=configs)


def gradient(product):
    return rb.grad(lambda x, y: product(x, y).sum(), argnums=(0, 1))


def main(platform, topology):
    for name, function, types in programs():
        try:
            rb.jit(function).trace(*types).lower(platforms=(platform,)).compile(topology=topology)
        except Exception as error:
            print("refused", name, type(error).__name__, str(error).splitlines()[0], flush=True)
        else:
            print("compiled", name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
