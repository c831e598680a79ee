"""Dtypes that compilers do not know, of which devices store the bits as unsigned numbers.

Such a dtype names in its row what stores it, ``codes``, and what it computes in, ``compute``. An equation
with one becomes the same equation in the wider dtype: operands are decoded, and results rounded and encoded.
Carriers of bodies pass codes on as they are, for the equations of their bodies are treated one by one.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.errors import NotOfferedError
from rabbet.messages.function_names import address
from rabbet.program.avals import ShapedArray
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from rabbet.program.jaxpr import Equation
    from rabbet.rules.primitive import Primitive

CODES = "codes"
"""The name of the rule of a primitive whose ``lower`` rule speaks of codes by itself."""

operations: Any = None


def use_operations(namespace: Any) -> None:
    """Name the operations that decoding and encoding are written with. Called once, by composition."""
    global operations
    operations = namespace


def concerns(eqn: Equation) -> bool:
    """Whether an operand or a result of an equation is stored as codes."""
    return any(v.aval.codes is not None for v in (*eqn.inputs, *eqn.outputs))


def is_aware(primitive: Primitive) -> Any:
    """Whether a primitive's own lowering takes codes as they are."""
    return CODES in primitive.rules


def bits_of(value: Any, aval: ShapedArray) -> Any:
    """The codes of a NumPy array or number, for a type that is stored as such."""
    return dtypes.host_cast(np.asarray(value), aval.dtype).view(aval.codes)


@functools.cache
def numbers(dtype: Any) -> Any:
    """The numbers from zero upwards, in the order of their codes."""
    spec = dtypes.spec(dtype)
    codes = np.arange(2 ** ((spec.bits or spec.storage_bits) - 1), dtype=spec.codes)
    return codes.view(dtype).astype("float64")


def decoded(codes: Any, dtype: Any, wide: Any) -> Any:
    """What codes of a dtype stand for, in a wider one: by the dtype's own program, or else by a look into the
    table of all numbers.
    """
    own = dtypes.spec(dtype)
    if own.decode is not None:
        found = checked(own.decode(codes), codes.shape, own.compute, own, own.decode)
        return operations.convert_element_type(found, wide)
    lax, positive = operations, numbers(dtype)
    table = np.concatenate([positive, -positive]).astype(wide)
    inside = lax.convert_element_type(codes & codes.dtype.type(len(table) - 1), "int32")
    at = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    inside = lax.expand_dims(inside, (inside.ndim,))
    return lax.gather(table, inside, at, slice_sizes=(1,), mode="promise_in_bounds")


def encoded(x: Any, dtype: Any) -> Any:
    """The codes of the numbers next to those of a float array: by the dtype's own program, or as follows.

    A number's code is the count of the midpoints of neighbours below it. One that lies on a midpoint goes to
    the even code. NaN, which such formats lack, becomes a zero of the other sign. All that is as in
    ml_dtypes, but for numbers of float64, which it rounds to float32 first.
    """
    own = dtypes.spec(dtype)
    if own.encode is not None:
        x = operations.convert_element_type(x, own.compute)
        return checked(own.encode(x), x.shape, own.codes, own, own.encode)
    lax, positive, codes = operations, numbers(dtype), dtypes.codes(dtype)
    wide = x.dtype.type
    size = lax.abs(x)
    found = lax.full(x.shape, 0, codes)
    for k, midpoint in enumerate((positive[1:] + positive[:-1]) / 2):
        beyond = (lax.ge if k % 2 else lax.gt)(size, lax.full(x.shape, wide(midpoint), x.dtype))
        found = found + lax.convert_element_type(beyond, codes)
    unsigned = f"uint{8 * x.dtype.itemsize}"
    top = lax.shift_right_logical(
        lax.bitcast_convert_type(x, unsigned), lax.full(x.shape, 8 * x.dtype.itemsize - 1, unsigned)
    )
    negative = lax.ne(lax.convert_element_type(top, "bool"), lax.ne(x, x))
    sign = lax.full(x.shape, len(positive), codes)
    return lax.select(negative, found + sign, found)


def checked(out: Any, shape: Any, dtype: Any, spec: Any, function: Callable[..., Any]) -> Any:
    """What a row's ``encode`` or ``decode`` returned, if that is an array of the right type.

    Raises:
      TypeError: names the dtype and the function.
    """
    found, wanted = typeof(out), ShapedArray(shape, np.dtype(dtype))
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        name = "encode" if function is spec.encode else "decode"
        raise TypeError(
            f"{name} of the dtype {spec.name!r} ({address(function)}) returned {found.str_short()}; expected "
            f"is {wanted.str_short()}"
        )
    return out


def is_one(value: Any, dtypes_of_codes: Any) -> Any:
    """Whether a parameter is one of these dtypes."""
    return isinstance(value, np.dtype) and any(value == dtype for dtype in dtypes_of_codes)


def widened(eqn: Any) -> Any:
    """The program on codes that an equation amounts to, with the arrays that it uses.

    Raises:
      NotOfferedError: for an operation whose results have a dtype of their own, such as a callback's.
    """
    op, ins, outs = eqn.op, [v.aval for v in eqn.inputs], [v.aval for v in eqn.outputs]
    ours = [a.dtype for a in (*ins, *outs) if a.codes is not None]
    doubles = any(a.dtype.name in ("float64", "complex128") for a in ins if not a.is_extended)
    wide = np.dtype("float64" if doubles else dtypes.spec(ours[0]).compute)
    params = {name: wide if is_one(value, ours) else value for name, value in op.params.items()}

    def on_codes(*arrays: Any) -> Any:
        given = [decoded(x, a.dtype, wide) if a.codes is not None else x for x, a in zip(arrays, ins)]
        out = op.primitive(*given, **params)
        found = out if op.primitive.multiple_results else [out]
        for y in found:
            if typeof(y).codes is not None:
                raise NotOfferedError(
                    f"{op.primitive.name!r} on {dtypes.spec(ours[0]).name}: compilers have no such type\n"
                    f"  to fix: convert first, x.astype('{wide.name}')"
                )
        return [encoded(y, a.dtype) if a.codes is not None else y for y, a in zip(found, outs, strict=True)]

    return stage(on_codes, [ShapedArray(a.physical.shape, a.physical.dtype) for a in ins], op.primitive.name)
