"""Rows of ``primitives/contractions.py``."""

import numpy as np

from rabbet import lax
from rabbet.extend import primitive as family
from rabbet.testing.draws import some
from rabbet.testing.table import Row

DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "int32", "uint8", "bool")


def product(note, numbers, lhs, rhs, letters, *, preferred=None, dtypes=("float32",), orders=2):
    """A row whose reference is an ``einsum`` over ``letters``."""

    def reference(x, y):
        if x.dtype == bool:
            return np.einsum(letters, x.astype(int), y.astype(int)) > 0
        wide = x.dtype if preferred is None or np.dtype(preferred).kind in "fc" else np.dtype(preferred)
        return np.einsum(letters, x.astype(wide), y.astype(wide))

    target = None if preferred is None else np.dtype(preferred)
    # Some hardware rounds float32 for products unless it is told not to.
    precision = (lax.Precision.HIGHEST, lax.Precision.HIGHEST)
    params = {"dimension_numbers": numbers, "precision": precision, "preferred_element_type": target}
    return Row(
        family.dot_general, reference, (some(*lhs), some(*rhs)), dtypes, params, note, orders, loose=4.0,
        apart={} if preferred is None else {"bilinear": "sums are rounded to another dtype"},
    )  # fmt: skip


ROWS = [
    product("matrices", (((1,), (0,)), ((), ())), (2, 3), (3, 4), "ik,kj->ij", dtypes=DTYPES),
    product("vectors", (((0,), (0,)), ((), ())), (3,), (3,), "k,k->"),
    product("outer", (((), ()), ((), ())), (2,), (3,), "i,j->ij"),
    product("stacks", (((2,), (1,)), ((0,), (0,))), (2, 3, 4), (2, 4, 2), "bik,bkj->bij"),
    product("weights", (((2,), (0,)), ((), ())), (2, 3, 4), (4, 5), "btd,df->btf"),
    product("weights last", (((2,), (1,)), ((), ())), (2, 3, 4), (5, 4), "btd,fd->btf"),
    product("weights first", (((0,), (1,)), ((), ())), (4, 5), (3, 4, 2), "df,tdb->ftb"),
    product("attention", (((3,), (3,)), ((0, 2), (0, 2))), (2, 3, 2, 4), (2, 5, 2, 4), "bqhd,bkhd->bhqk"),
    product("crossed", (((2, 0), (1, 3)), ((1,), (2,))), (2, 3, 4), (5, 4, 3, 2), "kbl,jlbk->bj"),
    product("two side by side", (((1, 2), (0, 1)), ((), ())), (2, 3, 4), (3, 4, 5), "ikl,klj->ij"),
    product("wide sums", (((1,), (0,)), ((), ())), (2, 3), (3, 4), "ik,kj->ij", preferred="float32",
            dtypes=("float16", "bfloat16"), orders=0),
    product("counts", (((1,), (0,)), ((), ())), (2, 3), (3, 4), "ik,kj->ij", preferred="int32",
            dtypes=("uint8",), orders=0),
]  # fmt: skip
