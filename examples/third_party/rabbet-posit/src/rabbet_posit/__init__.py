"""The dtype posit16: posits of 16 bits with two exponent bits, as the standard of 2022 has them."""

from rabbet import lax
from rabbet.extend.dtype import DTypeSpec


def int32(x):
    return lax.convert_element_type(x, "int32")


def decode(codes):
    """The numbers, float32, of the codes (int16): two's complement; -32768 is "not a real"."""
    code = int32(codes)
    negative = lax.lt(code, 0)
    body = lax.abs(code)  # 15 bits: regime, exponent, fraction
    first = lax.bitwise_and(lax.shift_right_logical(body, 14), 1)
    # the run of equal bits that body begins with: leading zeros after inverting
    flipped = lax.bitwise_and(lax.select(lax.eq(first, 1), lax.bitwise_not(body), body), 0x7FFF)
    run = lax.sub(lax.clz(flipped), 17)
    regime = lax.select(lax.eq(first, 1), lax.sub(run, 1), lax.neg(run))
    # exponent and fraction lie behind the run and its end; put them at the top of 15 bits
    rest = lax.bitwise_and(lax.shift_left(body, lax.min(lax.add(run, 1), 31)), 0x7FFF)
    exponent = lax.shift_right_logical(rest, 13)
    fraction = lax.bitwise_and(rest, 0x1FFF)
    scale = lax.add(lax.mul(regime, 4), exponent)
    bits = lax.bitwise_or(lax.shift_left(lax.add(scale, 127), 23), lax.shift_left(fraction, 10))
    size = lax.bitcast_convert_type(bits, "float32")
    value = lax.select(negative, lax.neg(size), size)
    value = lax.select(lax.eq(code, 0), lax.full_like(value, 0.0), value)
    return lax.select(lax.eq(code, -32768), lax.full_like(value, float("nan")), value)


def encode(x):
    """The codes of the numbers next to those of a float32 array, ties to the even code."""
    size = lax.clamp(2.0**-56, lax.abs(x), 2.0**56)
    bits = lax.bitcast_convert_type(size, "int32")
    scale = lax.sub(lax.shift_right_logical(bits, 23), 127)
    fraction = lax.bitwise_and(bits, 0x7FFFFF)
    regime = lax.shift_right_arithmetic(scale, 2)
    exponent = lax.bitwise_and(scale, 3)
    # how many bits the regime has with its end
    length = lax.select(lax.ge(regime, 0), lax.add(regime, 2), lax.sub(1, regime))
    head = lax.select(
        lax.ge(regime, 0),
        lax.sub(lax.shift_left(lax.full_like(length, 1), length), 2),
        lax.full_like(length, 1),
    )
    tail = lax.bitwise_or(lax.shift_left(exponent, 23), fraction)  # 25 bits
    # all of it would be length + 25 bits; 15 are kept. `length` is 2 to 16
    drop = lax.add(length, 10)  # bits of the tail that go, 12 to 26
    kept = lax.bitwise_or(
        lax.select(
            lax.le(length, 15),
            lax.shift_left(head, lax.max(lax.sub(15, length), 0)),
            lax.shift_right_logical(head, 1),
        ),
        lax.select(lax.lt(drop, 25), lax.shift_right_logical(tail, drop), lax.full_like(tail, 0)),
    )
    one = lax.full_like(tail, 1)
    half = lax.shift_left(one, lax.sub(drop, 1))
    lost = lax.bitwise_and(tail, lax.sub(lax.shift_left(one, drop), 1))
    up = lax.bitwise_or(
        lax.gt(lost, half), lax.bitwise_and(lax.eq(lost, half), lax.eq(lax.bitwise_and(kept, 1), 1))
    )
    code = lax.clamp(1, lax.add(kept, int32(up)), 0x7FFF)
    code = lax.select(lax.lt(x, 0.0), lax.neg(code), code)
    code = lax.select(lax.eq(x, 0.0), lax.full_like(code, 0), code)
    real = lax.bitwise_and(lax.eq(x, x), lax.lt(lax.abs(x), float("inf")))
    return lax.convert_element_type(lax.select(real, code, lax.full_like(code, -32768)), "int16")


POSIT16 = DTypeSpec(
    "posit16", None, None, "f", above=("float*",), below=("float32",), codes="int16", compute="float32",
    decode=decode, encode=encode, infinities=False, nan=True, negative_zero=False, overflow="saturate",
    rounding="other",
)
