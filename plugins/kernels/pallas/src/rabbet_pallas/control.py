"""Control flow in kernels: ``when`` and ``loop``."""

import numpy as np
from rabbet import lax
from rabbet.extend.functions import folded


@folded
def when(condition):
    """Decorator: the function runs at once, if ``condition`` holds. What it writes to references stays.

    Args:
      condition: a bool, or a computed boolean scalar.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> def kernel(x, out):
      ...     @pl.when(x[0] > 1)
      ...     def _():
      ...         out[0] = x[0]
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((1,), "int32"))(rnp.array([5])).tolist()
      [5]
    """

    def run(function):
        if isinstance(condition, (bool, np.bool_)):
            if condition:
                function()
            return
        lax.cond(condition, lambda: (function(), None)[1], lambda: None)

    return run


@folded
def loop(lower, upper, *, init_carry=None, step=1, unroll=None):
    """Decorator: the function runs at once for each index from ``lower`` to ``upper``.

    Args:
      lower, upper: integers, computed or not.
      init_carry: with it, the function is given the index and a carried value, and returns the next one; the
        name then stands for the last one. Without it, it is given the index.
      step: the distance from one index to the next, an int above 0.
      unroll: how many rounds are written out, as for ``lax.fori_loop``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> def kernel(x, out):
      ...     @pl.loop(0, 4)
      ...     def _(i):
      ...         out[i] = x[i] * 2
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((4,), "int32"))(rnp.arange(4)).tolist()
      [0, 2, 4, 6]
    """
    if not isinstance(step, (int, np.integer)) or step < 1:
        raise ValueError(f"loop: step must be an int above 0, got {step!r:.40}")

    def run(function):
        if step == 1:
            first, end, at = lower, upper, lambda i: i
        else:
            first, end, at = 0, rounds(lower, upper, step), lambda i: lower + i * step
        more = {} if unroll is None else {"unroll": unroll}
        if init_carry is None:
            lax.fori_loop(first, end, lambda i, _: (function(at(i)), None)[1], None, **more)
            return None
        return lax.fori_loop(first, end, lambda i, carry: function(at(i), carry), init_carry, **more)

    return run


def rounds(lower, upper, step):
    """How many indices there are."""
    if isinstance(lower, (int, np.integer)) and isinstance(upper, (int, np.integer)):
        return max(0, -((lower - upper) // step))
    span = upper - lower + (step - 1)
    return lax.div(span, np.asarray(step, span.dtype))


__all__ = ["loop", "when"]
