"""The polar decomposition."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused
from rabbet.extend.primitive import ShapedArray, full_of_type
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices, primitives

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import Value


@fused(static=("is_hermitian", "max_iterations", "eps", "dynamic_shape"))
def qdwh(
    x: Value,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: Any = None,
) -> Any:
    """The polar decomposition ``x = u h`` by the dynamically weighted Halley iteration (QDWH).

    Args:
      x: of shape ``(..., m, n)`` with ``m >= n``, floating or complex, of full rank.
      is_hermitian: not used.
      max_iterations: how many steps to take at most; by default four in single and six in double precision,
        which bring singular values as small as the rounding error to 1.
      eps: the steps have converged when the last one changed ``u`` by less than ``(4 eps)^(1/3) |u|``; by
        default the rounding error.
      dynamic_shape: ``(m, n)``: only the first rows and columns count; ``u`` and ``h`` are zero beyond.

    Returns:
      ``(u, h, num_iters, is_converged)``: ``u`` with orthonormal columns, ``h`` Hermitian and positive
      semidefinite, the number of steps (int32), and whether they were enough.

    Raises:
      ValueError: if ``m < n``.

    Example:
      >>> q, h, steps, converged = lax.linalg.qdwh(rnp.diag(rnp.array([2.0, 3.0])))
      >>> rnp.allclose(q @ h, rnp.diag(rnp.array([2.0, 3.0])), atol=1e-4)
      Array(True, dtype=bool)
    """
    aval = typeof(x)
    matrices.matrices("qdwh", aval)
    m, n = aval.shape[-2:]
    if m < n:
        raise ShapeError(
            f"qdwh takes matrices with at least as many rows as columns, got {aval.str_short()}; "
            "decompose the adjoint"
        )
    if dynamic_shape is not None:
        rows, columns = [operator.index(d) for d in dynamic_shape]
        x = matrices.enlarged(matrices.corner(x, min(rows, m), min(columns, n)), m, n)
    u, h, before, count = primitives.polar.polar(x, max_iterations)
    rounding = float(dtypes.finfo(aval.dtype).eps)
    eps = rounding if eps is None else float(eps)
    change = primitives.polar.norm(lax.sub(u, before))
    limit = lax.mul(primitives.polar.norm(u), (4.0 * eps) ** (1.0 / 3.0))
    # The first steps may move little: they are for singular values that are tiny.
    enough = full_of_type(
        typeof(change).update(dtype=np.dtype(bool)), count == len(primitives.polar.steps(rounding))
    )
    converged = lax.bitwise_and(enough, lax.le(change, limit))
    return u, h, full_of_type(ShapedArray((), np.dtype("int32")), count), converged
