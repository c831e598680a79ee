"""What the compiler for GPUs is told through Triton."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class CompilerParams:
    """What Triton is told of a kernel; without effect on the CPU.

    Args:
      num_warps: how many groups of 32 threads run a program.
      num_stages: how many rounds of a loop are loaded ahead.
    """

    num_warps: int | None = None
    num_stages: int | None = None


__all__ = ["CompilerParams"]
