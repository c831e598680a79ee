"""Functions of one array, compiled and run on a NumPy array at once, whatever is being traced or lowered: how
the host converts numbers of formats that NumPy does not know (``dtypes.host_formats``).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from rabbet.config import config
from rabbet.messages.function_names import address
from rabbet.program.avals import ShapedArray
from rabbet.program.context import context
from rabbet.program.jaxpr import consts_as_inputs
from rabbet.runtime.arrays import values
from rabbet.runtime.compilation import program
from rabbet.runtime.evaluation import EVALUATION
from rabbet.runtime.platforms.devices import default_device
from rabbet.trace.staging import stage


def evaluate(function: Any, host: Any, what: Any) -> Any:
    """The result of ``function`` for a NumPy array, a NumPy array of the same shape.

    Args:
      what: what the function is, for messages.

    Raises:
      TypeError: it returned an array of another shape, or none.
    """
    around = context.interpreter, context.where, context.axes, context.is_lowering
    context.interpreter, context.where, context.axes, context.is_lowering = EVALUATION, None, (), False
    # A format's NaN is among the numbers that it can decode, which says nothing of the caller's program.
    quiet = {"debug_nans": False, "debug_infs": False, "transfer_guard_device_to_host": None}
    try:
        with config.override(disable_jit=False, **quiet):
            run, consts = compiled(function, host.shape, host.dtype, default_device(), what)
            (out,) = run(
                [*consts, values.host_array(host, ShapedArray(host.shape, host.dtype), default_device())]
            )
            return np.asarray(out)
    finally:
        context.interpreter, context.where, context.axes, context.is_lowering = around


@functools.lru_cache(maxsize=256)
def compiled(function: Any, shape: Any, dtype: Any, device: Any, what: Any) -> Any:
    """``(runner, arrays that it uses)`` of a function for arrays of a type."""
    aval = ShapedArray(shape, dtype)
    closed = stage(lambda x: [function(x)], [aval], what)
    (out,) = closed.jaxpr.out_avals
    if out.shape != shape:
        raise TypeError(f"{what} ({address(function)}) returned {out.str_short()} for {aval.str_short()}")
    lowering = program.lower(consts_as_inputs(closed), device.platform, what)
    return program.compile(lowering, device).runner(False), list(closed.consts)


__all__ = ["evaluate"]
