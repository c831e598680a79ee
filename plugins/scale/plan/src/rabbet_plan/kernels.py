"""How well a matrix product fills a GPU.

A kernel cuts a product's result into parts of fixed size, each computed by one multiprocessor; where their
number is no multiple of the multiprocessors, some of these wait while the last parts are computed, and a part
that the result does not fill takes as long as a full one. NVIDIA's "Matrix Multiplication Background User's
Guide" describes both (tile and wave quantization) and names the sizes of the parts that its library uses for
large products. Of these the one that is done first is taken, as the library would.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rabbet_plan.arithmetic import dimensions_of_product
from rabbet_plan.hlo import Instruction

PARTS = ((256, 128), (128, 256), (128, 128))


class Product(NamedTuple):
    """``many`` products of matrices of ``rows`` by ``inner`` and ``inner`` by ``columns``."""

    many: int
    rows: int
    columns: int
    inner: int


def product_of(i: Instruction) -> Product | None:
    """The sizes of a product; None of what is none, and of a convolution."""
    found = dimensions_of_product(i)
    if found is None:
        return None
    contracted, batch = found
    left, out = i.operands[0].shape, i.shape.arrays[0]
    inner = math.prod([left.dimensions[d] for d in contracted])
    many = math.prod([left.dimensions[d] for d in batch])
    if not inner * many or not left.count or not out.count:
        return None
    rows = left.count // (inner * many)
    return Product(many, rows, out.count // (many * rows), inner)


def filled(i: Instruction, units: int) -> float:
    """The share of the time for which a product keeps all ``units`` busy; 1 where that is not known."""
    found = product_of(i) if units else None
    return 1.0 if found is None else share(found, units)


def share(product: Product, units: int) -> float:
    """The same of known sizes."""
    best = 0.0
    for high, wide in PARTS:
        parts = product.many * math.ceil(product.rows / high) * math.ceil(product.columns / wide)
        rounds = math.ceil(parts / units)
        asked = product.many * product.rows * product.columns
        best = max(best, asked / (rounds * units * high * wide))
    return best


__all__ = ["Product", "filled", "product_of", "share"]
