"""Vector quantization: ``jax.scipy.cluster.vq``."""

import rabbet.numpy as rnp
from rabbet import Array
from rabbet.extend.functions import fused, public_module
from rabbet.scipy.inputs import inexact, where


@fused(static=("check_finite",))
def vq(obs: Array, code_book: Array, check_finite: bool = True) -> tuple[Array, Array]:
    """Give each observation the code that is nearest to it.

    Args:
      obs: of shape ``(m, n)``, an observation in each row; or ``(m,)``, where each is one number.
      code_book: of shape ``(k, n)`` or ``(k,)``, the codes.
      check_finite: not used.

    Returns:
      ``(code, dist)`` of shape ``(m,)``: the number of the nearest code (int32; the first of several), and
      the Euclidean distance to it.

    Raises:
      ValueError: for arrays of other shapes, or without a code.

    Example:
      >>> code, dist = vq(rnp.array([[0.0, 1.0], [3.0, 3.0]]), rnp.array([[0.0, 0.0], [3.0, 4.0]]))
      >>> print(code, dist)
      [0 1] [1. 1.]
    """
    obs, code_book = inexact("vq", obs, code_book)
    if obs.ndim != code_book.ndim or obs.ndim not in (1, 2) or obs.shape[1:] != code_book.shape[1:]:
        raise ValueError(
            "vq takes observations of shape (m, n) and codes of shape (k, n), or (m,) and (k,); got "
            f"{obs.shape} and {code_book.shape}"
        )
    if not code_book.shape[0]:
        raise ValueError("vq: the code book has no codes")
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    squares = rnp.sum(rnp.square(rnp.abs(obs[:, None] - code_book[None])), -1)
    code = rnp.argmin(squares, 1)
    away = obs - code_book[code]
    square = rnp.sum(rnp.square(rnp.abs(away)), 1)
    # The root has no derivative at 0; there the distance has the derivative 0.
    apart = square > 0
    return code, where(apart, rnp.sqrt(where(apart, square, 1)), 0)


__all__ = ["vq"]

public_module(globals())
