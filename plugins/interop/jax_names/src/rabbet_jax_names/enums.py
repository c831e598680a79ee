"""Words of the public functions that are enums in JAX."""

import enum


class CompilerEffortLevel(enum.IntEnum):
    """How much the compiler should do, for ``config.optimization_level`` and ``config.memory_fitting_level``;
    the values are XLA's.

    Example:
      >>> with rb.config.override(optimization_level=rb.CompilerEffortLevel.O1):
      ...     rb.config.optimization_level
      'O1'
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


class Inline(enum.Enum):
    """Where a function that ``jit`` compiled disappears into the one that calls it: while that is traced
    (``JAX_EARLY``, the same as ``inline=True``), or where the compiler likes (all others).

    Example:
      >>> rb.jit(lambda x: x + 1, inline=rb.Inline.AUTO)(1.0)
      Array(2., dtype=float32, weak_type=True)
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"

    def __bool__(self):
        return self is Inline.JAX_EARLY


__all__ = ["CompilerEffortLevel", "Inline"]
