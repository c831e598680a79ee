"""Types of elements, numbers and source lines as MLIR writes them."""

import math

import numpy as np
from rabbet.extend.functions import source_position
from rabbet.extend.rules import mlir_string

ELEMENTS = {
    "bool": "i1", "int8": "i8", "uint8": "i8", "int16": "i16", "uint16": "i16", "int32": "i32",
    "uint32": "i32",
    "int64": "i64", "uint64": "i64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
}  # fmt: skip
# Of floats: bits, and of the exponent and the mantissa.
FLOATS = {
    "float16": (16, 5, 10), "bfloat16": (16, 8, 7), "float32": (32, 8, 23), "float64": (64, 11, 52),
    "float8_e4m3fn": (8, 4, 3), "float8_e5m2": (8, 5, 2),
}  # fmt: skip


def bits(dtype):
    """How many bits an element has; 1 of a bool."""
    name = str(dtype)
    return 1 if name == "bool" else FLOATS[name][0] if name in FLOATS else int(name.lstrip("uint"))


def is_float(dtype):
    """Whether a dtype is of floats."""
    return str(dtype) in FLOATS


def written(value, dtype):
    """A number as MLIR reads it, for an element of this dtype."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype not in FLOATS:
        number = int(value)
        width = bits(dtype)
        return str(number - (1 << width) if number >= 1 << (width - 1) else number)
    number = float(value)
    if math.isfinite(number):
        return f"{number:.17e}"
    width, exponent, mantissa = FLOATS[dtype]
    found = ((1 << exponent) - 1) << mantissa
    if dtype == "float8_e4m3fn":
        found |= 7  # it has no infinity: all ones are NaN
    elif math.isnan(number):
        found |= 1 << (mantissa - 1)
    if math.copysign(1.0, number) < 0 and not math.isnan(number):
        found |= 1 << (width - 1)
    return f"0x{found:0{width // 4}X}"


def location(where):
    """The location of a line of the user's, behind a space; nothing where it is not known."""
    found = None if where is None else source_position(where)
    if found is None:
        return ""
    return f' loc({mlir_string(str(found.file))}:{found.line}:{found.column or 0})'


def column(value, dtype):
    """An array of numbers as a dense constant has it."""
    return "[" + ", ".join([written(v, dtype) for v in np.asarray(value).reshape(-1)]) + "]"


__all__ = ["ELEMENTS", "FLOATS", "bits", "column", "is_float", "location", "written"]
