"""Looking into kernels: ``debug_print`` and ``debug_check``."""

import rabbet as rb
from rabbet.extend.functions import folded


@folded
def debug_print(fmt, *args):
    """Print values within a kernel, for each program that runs it.

    Args:
      fmt: a format string, with a ``{}`` for each value. Without one the values stand behind it.
      args: arrays and numbers.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> def kernel(out):
      ...     pl.debug_print("program {}", pl.program_id(0))
      ...     out[...] = rnp.zeros(1, "int32")
      >>> out = pl.pallas_call(kernel, rb.ShapeDtypeStruct((1,), "int32"), grid=2)()
      program 0
      program 1
    """
    if args and "{" not in fmt:
        fmt = fmt + " {}" * len(args)
    rb.debug.print(fmt, *args, ordered=True)


@folded
def debug_check(condition, message):
    """Raise an error in a kernel where a condition does not hold, if checks are on (``enable_debug_checks``).

    Args:
      condition: a computed boolean.
      message: what to say, a string or a function that returns one.

    Raises:
      RuntimeError: where the values of the program are asked for.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.debug_check(False, "never looked at, because checks are off")
    """
    if not rb.config.pallas_enable_debug_checks:
        return
    text = message() if callable(message) else message

    def look(holds):
        if not holds:
            raise RuntimeError(f"check failed in a kernel: {text}")

    rb.debug.callback(look, condition, ordered=True)


def enable_debug_checks(new_val=True):
    """Whether ``debug_check`` looks, within the ``with`` block, in kernels that are traced there.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> with pl.enable_debug_checks(True):
      ...     pass
    """
    return rb.config.override(pallas_enable_debug_checks=bool(new_val))


def enable_poison_buffers(new_val=True):
    """Whether what no program writes is NaN, or the least integer, within the ``with`` block; so it is too
    while ``rabbet.config.enable_checks`` is on.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> with pl.enable_poison_buffers(True):
      ...     out = pl.pallas_call(lambda out: None, rb.ShapeDtypeStruct((2,), "float32"))()
      >>> out
      Array([nan, nan], dtype=float32)
    """
    return rb.config.override(pallas_poison_buffers=bool(new_val))


def poisons():
    """Whether buffers are filled with NaN first."""
    return rb.config.pallas_poison_buffers or rb.config.enable_checks


__all__ = ["debug_check", "debug_print", "enable_debug_checks", "enable_poison_buffers", "poisons"]
