"""What a generated program holds: variables with shapes, dtypes, and what is known of their numbers.

Two ways of running a program round differently, and a comparison, a ``floor`` or a maximum makes a large
difference of a small one. So the generator knows of each float whether it is *exact*: a multiple of
``2**-places`` that is at most ``size`` and fits the significand, so that every way of running computes the
same bits. Only exact numbers are compared, rounded or sorted.
"""

import math
from dataclasses import dataclass, replace

# By kind, the dtypes of a program in 32 bits and of one in 64. "h" is the half precision that a program
# chose.
NARROW = {"f": "float32", "i": "int32", "b": "bool", "u": "uint8", "c": "complex64"}
WIDE = {"f": "float64", "i": "int64", "b": "bool", "u": "uint8", "c": "complex128"}
SIGNIFICAND = {"float64": 50, "float32": 22, "float16": 10, "bfloat16": 7}
DISCRETE = "ibu"


@dataclass(frozen=True)
class Value:
    """A variable or an expression.

    Args:
      text: the expression.
      shape: its shape.
      kind: a key of ``NARROW``, or "h".
      size: a bound of the absolute value of floats.
      places: binary places after the point of an exact float; None if it may have been rounded.
    """

    text: str
    shape: tuple
    kind: str
    size: float = math.inf
    places: int | None = None

    @property
    def rank(self):
        return len(self.shape)

    @property
    def elements(self):
        return math.prod(self.shape)

    def but(self, **changes):
        return replace(self, **changes)


def is_exact(value, dtype):
    """Whether all ways of running compute the same bits for a value of this dtype."""
    if value.kind in DISCRETE:
        return True
    if value.places is None or dtype not in SIGNIFICAND:
        return False
    return math.log2(max(value.size, 1)) + value.places <= SIGNIFICAND[dtype]


def broadcast(*shapes):
    """The shape that these broadcast to, or None."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    out = []
    for sizes in zip(*padded):
        others = {n for n in sizes if n != 1}
        if len(others) > 1:
            return None
        out.append(others.pop() if others else 1)
    return tuple(out)
