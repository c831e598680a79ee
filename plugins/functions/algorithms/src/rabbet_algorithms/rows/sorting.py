"""Rows of ``primitives/sorting.py``."""

import numpy as np
from rabbet.testing.draws import among, some
from rabbet.testing.table import ANY, REALS, Row

from rabbet_algorithms import primitives as family


def params(dimension, num_keys=1, is_stable=True):
    return {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}


def along(order_of):
    """The reference that takes all operands at the positions ``order_of(*operands)`` along dimension 0."""

    def reference(*operands):
        order = order_of(*operands)
        return [np.take_along_axis(x, order, 0) for x in operands]

    return reference


def by_first(x, *_):
    return np.argsort(x, axis=0, kind="stable")


def by_two(x, y, *_):
    return np.stack([np.lexsort((b, a)) for a, b in zip(x.T, y.T, strict=True)], axis=1)


def largest(k):
    def reference(x):
        # Reversed, so that a stable sort leaves the first of equal ones last.
        order = (x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable"))[..., ::-1][..., :k]
        return [np.take_along_axis(x, order, -1), order.astype(np.int32)]

    return reference


TIES = among([1, 2, 3], 6, 4)
SPECIAL = among([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5], 8, 4)
PLACE = some(6, 4)

ROWS = [
    Row(family.sort, lambda x: np.sort(x, 0), (some(7, 3),), (*ANY, "uint32", "int64"), params(0), orders=2),
    Row(
        family.sort,
        lambda x: np.sort(x, 1),
        (some(3, 7),),
        ("float32", "int32"),
        params(1, is_stable=False),
        "1",
        2,
    ),
    Row(
        family.sort,
        lambda x: np.sort(x, 0),
        (SPECIAL,),
        ("float32", "float16", "float64", "bfloat16"),
        params(0),
        "special",
    ),
    Row(family.sort, along(by_first), (SPECIAL, some(8, 4)), ("float32",), params(0), "special pair"),
    Row(family.sort, along(by_first), (TIES, PLACE), ("float32", "int32", "bool"), params(0), "pair"),
    Row(family.sort, along(by_first), (PLACE, TIES, PLACE), ("float32", "complex64"), params(0), "three", 2),
    Row(
        family.sort,
        along(by_two),
        (TIES, TIES, PLACE),
        ("float32", "uint8", "bool"),
        params(0, 2),
        "two keys",
    ),
    Row(family.sort, along(by_two), (TIES, TIES), ("int32", "float32"), params(0, 2), "only keys"),
    Row(family.top_k, largest(3), (some(2, 7),), (*REALS, "bool"), {"k": 3}, orders=2),
    Row(family.top_k, largest(5), (TIES._replace(shape=(2, 7)),), ("float32", "int32"), {"k": 5}, "ties"),
]

__all__ = ["ROWS"]
