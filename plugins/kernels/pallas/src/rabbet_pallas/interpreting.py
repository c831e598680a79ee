"""Kernels computed by ordinary operations on every platform, as on the CPU."""

import dataclasses
from collections.abc import Callable
from typing import Any

import rabbet as rb

ONLY = {
    "detect_races": False, "out_of_bounds_reads": "raise", "skip_floating_point_ops": False,
    "num_cores_or_threads": 1, "vector_clock_size": None, "logging_mode": None, "grid_point_recorder": None,
    "allow_hbm_allocation_in_run_scoped": False, "buffer_bounds": "logical",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class InterpretParams:
    """For ``interpret=`` of ``pallas_call``: compute the kernel by ordinary operations, on every platform.

    Programs run in order and copies act at once, as always on the CPU: ``dma_execution_mode``, ``on_race``
    and ``random_seed`` change nothing.

    Args:
      uninitialized_memory: what stands where nothing was written: ``"nan"`` (of integers the least), or
        ``"zero"``.
      detect_races, out_of_bounds_reads, skip_floating_point_ops, num_cores_or_threads, vector_clock_size,
      logging_mode, grid_point_recorder, allow_hbm_allocation_in_run_scoped, buffer_bounds: only what they
        are by default.

    Raises:
      ValueError: for another value of those.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> mode = tpu.InterpretParams(uninitialized_memory="nan")
      >>> pl.pallas_call(lambda out: None, rb.ShapeDtypeStruct((2,), "float32"), interpret=mode)()
      Array([nan, nan], dtype=float32)
    """

    detect_races: bool = False
    on_race: str = "raise"
    out_of_bounds_reads: str = "raise"
    skip_floating_point_ops: bool = False
    uninitialized_memory: str = "nan"
    num_cores_or_threads: int = 1
    vector_clock_size: int | None = None
    logging_mode: Any = None
    dma_execution_mode: str = "on_wait"
    random_seed: int | None = None
    grid_point_recorder: Callable[..., Any] | None = None
    allow_hbm_allocation_in_run_scoped: bool = False
    buffer_bounds: str = "logical"

    def __post_init__(self) -> None:
        for name, usual in ONLY.items():
            if getattr(self, name) != usual:
                raise ValueError(
                    f"InterpretParams: {name}={getattr(self, name)!r} is not offered\n"
                    "  to fix: leave it out; Rabbet computes a kernel by ordinary operations, in order, and "
                    "simulates no hardware"
                )
        if self.uninitialized_memory not in ("nan", "zero"):
            given = self.uninitialized_memory
            raise ValueError(f"InterpretParams: uninitialized_memory={given!r}\n  to fix: 'nan' or 'zero'")


def force_tpu_interpret_mode(params: Any = None) -> Any:
    """Within the ``with`` block kernels are traced as with ``interpret=params``, those for GPUs too.

    Args:
      params: an ``InterpretParams``, by default one without arguments.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> with tpu.force_tpu_interpret_mode():
      ...     out = pl.pallas_call(lambda out: None, rb.ShapeDtypeStruct((2,), "float32"))()
      >>> out
      Array([nan, nan], dtype=float32)
    """
    params = InterpretParams() if params is None else params
    return rb.config.override(
        pallas_interpret=True, pallas_poison_buffers=poisoned(params) or rb.config.pallas_poison_buffers
    )


def asked(interpret):
    """Whether a kernel is to be computed by ordinary operations, by its argument or by the setting."""
    return bool(interpret) or bool(rb.config.pallas_interpret)


def poisoned(interpret):
    """Whether NaN is to stand where a kernel wrote nothing, by its argument ``interpret``."""
    return isinstance(interpret, InterpretParams) and interpret.uninitialized_memory == "nan"


__all__ = ["InterpretParams", "asked", "force_tpu_interpret_mode", "poisoned"]
