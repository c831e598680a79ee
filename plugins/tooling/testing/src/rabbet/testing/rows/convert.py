"""Rows of ``primitives/convert.py``."""

import numpy as np

from rabbet.extend import primitive as family
from rabbet.testing.draws import between, scalar, some
from rabbet.testing.table import ANY, INEXACT, Row

SOME = (some(),)


def conversion(to, sources=ANY, orders=0, inputs=SOME):
    target = np.dtype(to)

    def reference(x):
        if x.dtype.kind == "c" and target.kind != "c":
            x = x.real
        return x.astype(target)

    return Row(
        family.convert_element_type,
        reference,
        inputs,
        sources,
        {"new_dtype": target, "weak_type": False},
        to,
        orders,
    )


def bitcast(source, to, *shape):
    target = np.dtype(to)

    def reference(x):
        x = np.ascontiguousarray(x.astype(source))
        wider = target.itemsize > x.dtype.itemsize
        split = target.itemsize < x.dtype.itemsize
        return x[..., None].view(target) if split else x.view(target)[..., 0] if wider else x.view(target)

    return Row(
        family.bitcast_convert_type,
        reference,
        (between(-100, 100, *shape),),
        (source,),
        {"new_dtype": target},
        f"{source}-{to}",
    )


def from_parts(x, y):
    return x + 1j * y


def rounded_to(exponent, mantissa):
    """By arithmetic: enough for numbers of moderate size."""

    def reference(x):
        scale = 2.0 ** (np.floor(np.log2(np.abs(x))) - mantissa)
        return np.where(x == 0, x, np.rint(x / np.where(x == 0, 1, scale)) * scale)

    return reference


ROWS = [
    conversion("float32"),
    conversion("float64", orders=2),
    conversion("complex64", INEXACT, orders=0),
    conversion("complex128", INEXACT, orders=2),
    conversion("int32"),
    conversion("uint8", ("float32", "int32", "bool"), inputs=(between(0, 100),)),
    conversion("bool"),
    bitcast("float32", "int32"),
    bitcast("int32", "float32"),
    bitcast("float32", "uint8", 3),
    bitcast("uint8", "int32", 3, 4),
    Row(family.real, np.real, (some(),), ("complex64",), orders=2),
    Row(family.imag, np.imag, (some(),), ("complex64",), orders=2),
    Row(family.complex, from_parts, (some(), some()), ("float32", "float64"), orders=2),
    Row(family.complex, from_parts, (some(), scalar()), ("float32",), note="scalar right", orders=2),
    Row(
        family.conj, lambda x: np.conj(x) + 0j, (some(),), ("float32", "float64", "complex64", "complex128"),
        orders=2,
    ),
    Row(
        family.reduce_precision, rounded_to(5, 3), (some(),), ("float32", "float16"),
        {"exponent_bits": 5, "mantissa_bits": 3},
        apart={"forward": "it moves in steps", "second_order": "it moves in steps"},
    ),
    Row(family.stop_gradient, lambda x: x, (some(),), ANY),
]  # fmt: skip

__all__ = ["ROWS"]
