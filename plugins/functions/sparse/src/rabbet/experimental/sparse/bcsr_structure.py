"""BCSR arrays rearranged: as BCOO, and back."""

from collections.abc import Sequence
from typing import Any

from rabbet.experimental.sparse import structure, sums
from rabbet.experimental.sparse.base import needs
from rabbet.experimental.sparse.bcsr import BCSR


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """BCSR arrays one after the other along ``dimension``, as one; as ``bcoo_concatenate``.

    Example:
      >>> x = BCSR.fromdense(rnp.eye(2))
      >>> bcsr_concatenate([x, x], dimension=1).todense()
      Array([[1., 0., 1., 0.],
             [0., 1., 0., 1.]], dtype=float32)
    """
    needs("BCSR", "bcsr_concatenate", *operands)
    return BCSR.from_bcoo(structure.bcoo_concatenate([x.to_bcoo() for x in operands], dimension=dimension))


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCSR:
    """A BCSR spread over more dimensions; as ``bcoo_broadcast_in_dim``. Two of the result's stay sparse.

    Raises:
      ValueError: if the result has not two sparse dimensions.

    Example:
      >>> x = BCSR.fromdense(rnp.eye(2))
      >>> bcsr_broadcast_in_dim(x, shape=(3, 2, 2), broadcast_dimensions=(1, 2)).shape
      (3, 2, 2)
    """
    needs("BCSR", "bcsr_broadcast_in_dim", mat)
    return BCSR.from_bcoo(
        structure.bcoo_broadcast_in_dim(
            mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding
        )
    )


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """A BCSR with one entry for each place, the sum of those that it had; as ``bcoo_sum_duplicates``.

    Args:
      mat: the array.
      nse: how many entries the result has room for; by default as many as there are places, which must be
        known then.

    Example:
      >>> x = BCSR((rnp.array([1.0, 2.0]), rnp.array([1, 1]), rnp.array([0, 2])), shape=(1, 2))
      >>> bcsr_sum_duplicates(x)
      BCSR(float32[1, 2], nse=1)
    """
    needs("BCSR", "bcsr_sum_duplicates", mat)
    summed: Any = sums.bcoo_sum_duplicates(mat.to_bcoo(), nse)
    return BCSR.from_bcoo(summed)
