"""Loss scaling, for float16, whose small gradients become zero: in the convention of Optax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rabbet import lax, tree


class LossScaling(NamedTuple):
    """The state of ``loss_scaling``.

    Args:
      scale: what to multiply the loss by, a float32.
      good_steps: how many steps in a row had finite gradients, an int32.
      inner: the state of the optimizer within.
    """

    scale: Any
    good_steps: Any
    inner: Any


class Transformation(NamedTuple):
    """``init(params) -> state`` and ``update(updates, state, params=None) -> (updates, state)``."""

    init: Callable[..., Any]
    update: Callable[..., Any]


def loss_scaling(
    optimizer: Any, *, initial: float = 2.0**15, period: int = 2000, factor: float = 2.0
) -> Transformation:
    """An optimizer on gradients of a loss that was multiplied by ``state.scale``.

    Gradients are divided by the scale. Where one of them is not finite the step is left out (the updates are
    zeros, the optimizer's state stays) and the scale is divided by ``factor``; after ``period`` steps without
    that it is multiplied by it.

    Args:
      optimizer: ``(init, update)`` in the convention of Optax.
      initial: the first scale.

    Returns:
      such a pair; its state is a ``LossScaling``.

    Raises:
      ValueError: for a factor that is not above 1, or a period below 1.

    Example:
      >>> import rabbet.numpy as rnp
      >>> def step(gradients, state, params=None):
      ...     return rb.tree.map(lambda g: -0.1 * g, gradients), state
      >>> init, update = rb.loss_scaling((lambda params: (), step), initial=1024.0)
      >>> state = init({"w": rnp.ones(2)})
      >>> gradients = rb.grad(lambda p: state.scale * (p["w"] ** 2).sum())({"w": rnp.ones(2)})
      >>> updates, state = update(gradients, state)
      >>> updates["w"].tolist(), float(state.scale)
      ([-0.20000000298023224, -0.20000000298023224], 1024.0)
      >>> updates, state = update({"w": rnp.array([rnp.inf, 1.0])}, state)
      >>> updates["w"].tolist(), float(state.scale)
      ([0.0, 0.0], 512.0)
    """
    if not factor > 1 or period < 1:
        raise ValueError(f"loss_scaling: factor is above 1 and period at least 1, got {factor} and {period}")
    inner_init, inner_update = optimizer

    def init(params: Any) -> LossScaling:
        return LossScaling(
            lax.full((), initial, np.dtype("float32")), lax.full((), 0, np.dtype("int32")), inner_init(params)
        )

    def update(updates: Any, state: LossScaling, params: Any = None, **extra: Any) -> tuple[Any, LossScaling]:
        unscaled = tree.map(lambda g: lax.div(g, lax.convert_element_type(state.scale, g.dtype)), updates)
        finite = lax.full((), True, np.dtype(bool))
        for g in tree.leaves(unscaled):
            finite = lax.bitwise_and(finite, lax.reduce_and(lax.is_finite(g), tuple(range(g.ndim))))
        safe = tree.map(lambda g: lax.select(_spread(finite, g.shape), g, lax.full_like(g, 0)), unscaled)
        found, inner = inner_update(safe, state.inner, params, **extra)
        kept = lambda new, old: lax.select(_spread(finite, np.shape(new)), new, old)
        found = tree.map(lambda u: lax.select(_spread(finite, u.shape), u, lax.full_like(u, 0)), found)
        inner = tree.map(kept, inner, state.inner)
        steps = lax.select(finite, lax.add(state.good_steps, np.int32(1)), lax.full_like(state.good_steps, 0))
        grown = lax.ge(steps, np.int32(period))
        scale = lax.select(
            finite,
            lax.select(grown, lax.mul(state.scale, np.float32(factor)), state.scale),
            lax.div(state.scale, np.float32(factor)),
        )
        return found, LossScaling(scale, lax.select(grown, lax.full_like(steps, 0), steps), inner)

    return Transformation(init, update)


def _spread(flag: Any, shape: tuple[int, ...]) -> Any:
    return lax.broadcast_in_dim(flag, shape, ())


__all__ = ["LossScaling", "Transformation", "loss_scaling"]
