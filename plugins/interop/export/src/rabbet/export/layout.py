"""The layout of an ``Exported`` as bytes, which JAX's loader reads, with a checksum behind it.

It is a FlatBuffer; ``F`` has the numbers of its fields. What Rabbet writes ends in a mark and a SHA-256 of
the rest, which other readers do not look at; bytes without the mark are read without it.
"""

import hashlib

VERSION = 12
OLDEST_READ = 3
MARK = b"RABBET-SHA256\n"
DIGEST_SIZE = hashlib.sha256().digest_size


class F:
    """The fields of the outermost table."""

    VERSION, NAME, IN_TREE, IN_AVALS, OUT_TREE, OUT_AVALS, FEW_DEVICES = range(7)
    IN_SHARDINGS, OUT_SHARDINGS, PLATFORMS, ORDERED, UNORDERED, CHECKS = range(7, 13)
    MODULE, CONVENTION, KEPT, GLOBALS, VJP, DEVICES = range(13, 19)
    AVALS, MESHES, NAMED_SHARDINGS, IN_AVAL_NUMBERS, OUT_AVAL_NUMBERS = range(19, 24)
    IN_SHARDING_NUMBERS, OUT_SHARDING_NUMBERS, WRITER = range(24, 27)


SHAPE, DTYPE, MEMORY = 1, 2, 3  # of a type
ON_DEVICE = 1
CHECK_KIND, CHECK_TARGET = 0, 1  # of a check that was left out
PLATFORM_CHECK, CALL_CHECK = 0, 1

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128", "bfloat16", "int4", "uint4", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float0", "float8_e4m3", "float8_e3m4",
    "float8_e8m0fnu", "float4_e2m1fn", "key<fry>", "key<rbg>", "key<urbg>",
]  # fmt: skip
KEYS = {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<urbg>": "unsafe_rbg"}
