"""What two operands of a comparison become: numbers of one dtype that compare as the ones that were given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer
from rabbet.lax.promotion import beside, opened, promote_operands
from rabbet.primitives import convert, elementwise, logic
from rabbet.program import python_scalars
from rabbet.trace.interpreter import typeof


def comparable(x: ArrayLike, y: ArrayLike) -> Sequence[Any]:
    """Two operands of a comparison, in one dtype in which they compare as the numbers that they are.

    It is the dtype that they promote to, but for integers which that one does not hold: ``uint32`` beside
    ``int8`` is compared in 64 bits. No integers hold ``uint64`` and ``int64`` alike: there 1, 0 or -1, as the
    unsigned number is greater, equal or less, is compared with 0.

    Example:
      >>> from rabbet.extend.wrapping import comparable
      >>> x, y = comparable(np.array([2**32 - 1], "uint32"), np.array([-1], "int8"))
      >>> x.dtype.name, y.dtype.name
      ('int64', 'int64')
    """
    x, y = opened(x), opened(y)
    a, b = typeof(x), typeof(y)
    exact = exact_integers(a.dtype, b.dtype)
    if exact is None or python_scalars.is_python_scalar(x) or python_scalars.is_python_scalar(y):
        return beside(x, y)
    common, _ = dtypes.promote(x, y)  # refuses what the settings refuse
    if exact == common:
        return beside(x, y)
    if exact.kind in "iu":
        return promote_operands(x, y, to=(exact, False))
    return (order(x, y), 0) if a.kind == "u" else (0, order(y, x))


def exact_integers(a: np.dtype, b: np.dtype) -> Any:
    """The dtype, NumPy's, that holds the integers of two different dtypes; a float if there is none, and None
    where not both are such integers.

    Example:
      >>> from rabbet.extend.wrapping import exact_integers
      >>> exact_integers(np.dtype("uint32"), np.dtype("int8"))
      dtype('int64')
    """
    return np.promote_types(a, b) if a != b and a.kind in "iu" and b.kind in "iu" else None


def order(unsigned: Any, signed: Any) -> ArrayOrTracer:
    """1, 0 or -1, int8, as an integer of ``uint64`` is greater than one with a sign, equal or less."""
    to = np.dtype("uint64")
    unsigned, natural = promote_operands(unsigned, signed, to=(to, False))
    less, greater = [
        convert.convert_element_type(compare(unsigned, natural), new_dtype=np.dtype("int8"), weak_type=False)
        for compare in (logic.lt, logic.gt)
    ]
    found = elementwise.sub(greater, less)
    # What is below 0 has become a large number.
    _, sign = promote_operands(unsigned, signed, to=(np.dtype("int64"), False))
    return logic.select_n(logic.lt(sign, 0), found, elementwise.add(elementwise.mul(found, 0), 1))
