"""The target ``triton``: a kernel becomes a custom call that holds its text."""

import re

import numpy as np
from rabbet import lax
from rabbet.experimental.pallas import triton
from rabbet.experimental.pallas.targets import Target

from rabbet_pallas_triton import kernel, limits

CALL = "__gpu$xla.gpu.triton"


def write(site, call, names):
    """Write the call of a kernel; the names of its results."""
    limits.check(call)
    if 0 in call.grid:
        undefined = lambda *_: [lax.full(b.array.shape, 0, b.array.dtype) for b in call.outs]
        return site.write(undefined, site.in_avals, names)
    text, grid = kernel.module(call, name_of(call))
    params = call.params if isinstance(call.params, triton.CompilerParams) else triton.CompilerParams()
    x, y, z = [np.int32(n) for n in grid]
    attributes = {
        "name": name_of(call).encode(), "ir": text.encode(), "num_stages": np.int32(params.num_stages or 3),
        "num_warps": np.int32(params.num_warps or 4), "grid_x": x, "grid_y": y, "grid_z": z,
        "debug": call.debug,
    }  # fmt: skip
    first = len(call.prefetch)
    aliases = {first + operand: result for operand, result in call.aliases}
    return site.custom_call(
        CALL, names, [b.array for b in call.outs], in_avals=list(call.operands), attributes=attributes,
        aliases=aliases,
    )  # fmt: skip


def name_of(call):
    """The kernel's name as PTX allows it: letters, digits, underscores."""
    return re.sub(r"\W", "_", call.name, flags=re.ASCII) or "kernel"


TARGET = Target(
    "triton", platform="cuda", params=triton.CompilerParams, write=write,
    doc="kernels for NVIDIA GPUs, through the Triton compiler that is part of XLA",
)  # fmt: skip

__all__ = ["TARGET", "write"]
