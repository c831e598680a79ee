"""What the compiler for TPUs is told."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any


class GridDimensionSemantics(enum.Enum):
    """What may be assumed of the programs along a grid dimension."""

    PARALLEL = "parallel"
    CORE_PARALLEL = "core_parallel"
    SUBCORE_PARALLEL = "subcore_parallel"
    ARBITRARY = "arbitrary"


class SideEffectType(enum.Enum):
    """Whether a kernel does something besides its results."""

    PURE = "pure"
    DATAFLOW_SIDE_EFFECTING = "dataflow_side_effecting"
    SIDE_EFFECTING = "side_effecting"


@dataclasses.dataclass(frozen=True)
class CompilerParams:
    """What the compiler for TPUs is told of a kernel. On the CPU only ``dimension_semantics`` is looked at.

    Args:
      dimension_semantics: for each dimension of the grid "parallel" or "arbitrary".
      allow_input_fusion: for each operand whether what computes it may become part of the kernel.
      vmem_limit_bytes: how much of its fast memory the kernel may use.
      has_side_effects: a bool or a ``SideEffectType``.
      collective_id, flags, internal_scratch_in_bytes, serialization_format, disable_bounds_checks,
      disable_semaphore_checks, skip_device_barrier, allow_collective_id_without_custom_barrier,
      shape_invariant_numerics, use_tc_tiling_on_sc, needs_layout_passes, fuse_transposed_lhs_in_matmul,
      opt_level: handed to the compiler where it knows them.
    """

    dimension_semantics: Sequence[Any] | None = None
    allow_input_fusion: Sequence[bool] | None = None
    vmem_limit_bytes: int | None = None
    collective_id: int | None = None
    has_side_effects: Any = False
    flags: Mapping[str, Any] | None = None
    internal_scratch_in_bytes: int | None = None
    serialization_format: int = 1
    disable_bounds_checks: bool = False
    disable_semaphore_checks: bool = False
    skip_device_barrier: bool = False
    allow_collective_id_without_custom_barrier: bool = False
    shape_invariant_numerics: bool = True
    use_tc_tiling_on_sc: bool | None = None
    needs_layout_passes: bool = True
    fuse_transposed_lhs_in_matmul: bool = False
    opt_level: Any = None


__all__ = ["CompilerParams", "GridDimensionSemantics", "SideEffectType"]
