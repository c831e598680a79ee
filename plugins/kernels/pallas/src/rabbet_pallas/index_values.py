"""What an index map gives for each program of a grid, computed with NumPy before anything runs."""

import math

import numpy as np
from rabbet.extend.passes import Literal


def truncated(x, y):
    """``x / y`` of integers towards zero, 0 where ``y`` is."""
    safe = np.where(y == 0, 1, y)
    return np.where(y == 0, 0, (np.abs(x) // np.abs(safe)) * np.sign(x) * np.sign(safe))


def selected(which, *cases):
    return np.select([which == i for i in range(len(cases))], cases)


RULES = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "max": np.maximum,
    "min": np.minimum, "sign": np.sign, "abs": np.abs, "div": truncated,
    "rem": lambda x, y: x - truncated(x, y) * y, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "select_n": selected,
    "and": np.bitwise_and, "or": np.bitwise_or, "not": np.invert, "xor": np.bitwise_xor,
    "clamp": lambda low, x, high: np.clip(x, low, high), "stop_gradient": lambda x: x,
    "multiple_of": lambda x: x,
}  # fmt: skip


def places(grid):
    """The ids of all programs: a row for each dimension of the grid."""
    return np.indices(grid, np.int64).reshape(len(grid), math.prod(grid))


def index_values(grid, program):
    """The outputs of an index map for all programs, an array of their number each; None where it does
    something that is not known here, such as reading a prefetched array.

    Args:
      grid: ints.
      program: the index map, a ``Jaxpr``.
    """
    ids = places(grid)
    known = dict(zip(program.invars, ids, strict=False))

    def value(v):
        return np.asarray(v.value) if type(v) is Literal else known.get(v)

    for eqn in program.equations:
        operands = [value(v) for v in eqn.inputs]
        result = eqn.outputs[0]
        rule = RULES.get(eqn.primitive.name)
        if eqn.primitive.name == "convert_element_type" and result.aval.kind in "iub":
            rule = (lambda x: x.astype(bool)) if result.aval.kind == "b" else lambda x: x.astype(np.int64)
        if rule is not None and not any(x is None for x in operands) and len(eqn.outputs) == 1:
            known[result] = rule(*operands)
    found = [value(v) for v in program.outvars]
    if any(x is None for x in found):
        return None
    return [np.broadcast_to(x, ids.shape[1:]) for x in found]


__all__ = ["index_values", "places"]
