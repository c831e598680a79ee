"""What the parameters of core's primitives mean: their types and a few words, for `rabbet explain` and the
page of primitives. A test compares the names with the shape rules.
"""

from __future__ import annotations

import inspect
from typing import Any

SCATTERED = {
    "dimension_numbers": "lax.ScatterDimensionNumbers: which dimensions of the updates are windows, and "
    "where these go",
    "indices_are_sorted": "bool: a promise that the indices ascend",
    "unique_indices": "bool: a promise that no two windows overlap",
    "mode": "lax.GatherScatterMode: what becomes of windows that do not lie within the array",
}
# By the name of the parameter, for all primitives that have one of that name and none of their own below.
SHARED = {
    "accuracy": "lax.AccuracyMode, lax.Tolerance or None: how exact the compiler must be; None: as it is",
    "axes": "tuple of int: the dimensions that disappear",
    "dimensions": "tuple of int: the dimensions, counted from 0",
    "jaxpr": "Jaxpr: the program",
    "memory": 'str: the kind of memory, such as "pinned_host"',
    "new_dtype": "dtype: that of the result",
    "index_dtype": "dtype: the integer one of the result",
}
# By primitive, where a name means something of its own.
OWN: dict[str, dict[str, str]] = {
    "argmax": {"axes": "tuple of one int: the dimension along which the place is looked for"},
    "argmin": {"axes": "tuple of one int: the dimension along which the place is looked for"},
    "broadcast_in_dim": {
        "shape": "tuple of int: that of the result",
        "broadcast_dimensions": "tuple of int: where each dimension of x goes, ascending",
    },
    "concatenate": {"dimension": "int: the dimension along which the arrays are joined"},
    "cond": {"branches": "tuple of Jaxpr: programs of equal types, one of which runs; False is the first"},
    "convert_element_type": {"weak_type": "bool: whether the result's dtype gives way to others"},
    "dot_general": {
        "dimension_numbers": "((of x, of y), (of x, of y)): the dimensions that are summed over, "
        "and those that both share as a batch; tuples of int",
        "precision": "tuple of two lax.Precision, or None: how exact products of floats are",
        "preferred_element_type": "dtype or None: of the result; None: that of the operands",
    },
    "dynamic_slice": {"slice_sizes": "tuple of int: the shape of the result"},
    "expand_dims": {"dimensions": "tuple of int: where the new dimensions are in the result"},
    "from_physical": {"dtype": "ExtendedDType: that of the result's elements"},
    "gather": {
        "dimension_numbers": "lax.GatherDimensionNumbers: which dimensions of the result are windows, "
        "and where these begin in x",
        "slice_sizes": "tuple of int: the size of a window along each dimension of x",
        "indices_are_sorted": SCATTERED["indices_are_sorted"],
        "unique_indices": SCATTERED["unique_indices"],
        "mode": SCATTERED["mode"],
        "fill_value": "number or None: what is read outside of x with the mode FILL_OR_DROP; None: NaN, "
        "or the largest integer",
    },
    "integer_pow": {"y": "int: the exponent"},
    "iota": {
        "dtype": "dtype: of the result",
        "shape": "tuple of int: of the result",
        "dimension": "int: the dimension along which it counts",
    },
    "jit": {
        "jaxpr": "Jaxpr: the program that is called",
        "name": "str: the function's",
        "inline": "bool: whether the program is written into the caller's, and not as a function",
    },
    "pad": {
        "padding_config": "tuple of (before, after, between) for each dimension: how many values are put "
        "there; below 0, elements are cut off"
    },
    "platform_index": {"platforms": "tuple of str: among which the one that is compiled for is looked up"},
    "reduce_precision": {
        "exponent_bits": "int: of the format to which values are rounded",
        "mantissa_bits": "int: of that format, without the one that is not stored",
    },
    "reshape": {"new_sizes": "tuple of int: the shape of the result"},
    "rev": {"dimensions": "tuple of int: those that are turned round"},
    "scan": {
        "jaxpr": "Jaxpr: a round; from constants, carried values and slices to carried values and slices",
        "length": "int: how many rounds",
        "reverse": "bool: whether it begins with the last slice",
        "consts": "int: how many operands come first, which every round sees",
        "carry": "int: how many operands follow, which rounds hand on; the others are sliced",
        "unroll": "int: how many rounds are written out behind one another",
    },
    **dict.fromkeys(
        ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub"), SCATTERED
    ),
    "slice": {
        "start_indices": "tuple of int: the first element along each dimension",
        "limit_indices": "tuple of int: the end, which is not part of it",
        "strides": "tuple of int or None: steps; None: 1",
    },
    "squeeze": {"dimensions": "tuple of int: those of size 1 that disappear"},
    "transpose": {"permutation": "tuple of int: for each dimension of the result that of x"},
    "while": {
        "cond_jaxpr": "Jaxpr: whether another round is to run",
        "body_jaxpr": "Jaxpr: a round",
        "cond_consts": "int: how many operands come first, which only the first program sees",
        "body_consts": "int: how many follow, which only the second sees; the others are handed on",
    },
}


def names_of(abstract: Any) -> list[str]:
    """The names of the parameters that a shape rule of core's takes: what is no array."""
    return [
        p.name
        for p in inspect.signature(abstract).parameters.values()
        if p.kind != p.VAR_POSITIONAL and "ShapedArray" not in str(p.annotation) and p.name not in ("x", "xs")
    ]


def of_core(name: str, abstract: Any) -> dict[str, str]:
    """What a primitive of core's says of its parameters, by name, in the order of its shape rule."""
    said = {**SHARED, **OWN.get(name, {})}
    return {parameter: said.get(parameter, "") for parameter in names_of(abstract)}


__all__ = ["names_of", "of_core"]
