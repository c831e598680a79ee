"""A primitive: ``Primitive`` with its rules beside it, and the standard tables."""

from rabbet.lowering.custom_calls import (
    column_major,
    row_major,
)
from rabbet.lowering.host_callbacks import (
    write_call,
)
from rabbet.primitives import (
    matrices,
)
from rabbet.primitives.batching import (
    move_axis,
    new_axis,
)
from rabbet.primitives.branches import (
    cond as cond_call,
)
from rabbet.primitives.calls import (
    call_of,
)
from rabbet.primitives.calls import (
    jit as jit_call,
)
from rabbet.primitives.collectives import (
    collective,
)
from rabbet.primitives.custom import (
    custom_call,
)
from rabbet.primitives.dynamic import (
    dynamic_slice as dynamic_slice_call,
)
from rabbet.primitives.dynamic import (
    dynamic_update_slice as dynamic_update_slice_call,
)
from rabbet.primitives.gather import (
    gather as gather_call,
)
from rabbet.primitives.loops import (
    scan as scan_call,
)
from rabbet.primitives.loops import (
    while_ as while_call,
)
from rabbet.primitives.scatter import (
    scatter_calls,
)
from rabbet.primitives.scatter import (
    window_sizes as scatter_window_sizes,
)
from rabbet.primitives.sort import (
    sort as sort_call,
)
from rabbet.primitives.standard import (
    batch,
    jvp,
    lower,
    transpose,
)
from rabbet.primitives.threefry import (
    threefry2x32,
)
from rabbet.primitives.transposition import (
    add_to,
    backward,
    transpose_program,
)
from rabbet.primitives.zeros import (
    add_tangents,
    instantiate,
    no_tangent,
)
from rabbet.primitives.zeros import (
    full as full_of,
)
from rabbet.program.avals import (
    ShapedArray,
    ShapeDtypeStruct,
)
from rabbet.program.effects import (
    Effect,
)
from rabbet.rules.payloads import (
    tangent_aval,
    zero_for,
)
from rabbet.rules.primitive import (
    Op,
    Primitive,
)

__all__ = [
    "Effect",
    "Op",
    "Primitive",
    "ShapeDtypeStruct",
    "ShapedArray",
    "add_tangents",
    "add_to",
    "backward",
    "batch",
    "call_of",
    "collective",
    "column_major",
    "cond_call",
    "custom_call",
    "dynamic_slice_call",
    "dynamic_update_slice_call",
    "full_of",
    "gather_call",
    "instantiate",
    "jit_call",
    "jvp",
    "lower",
    "matrices",
    "move_axis",
    "new_axis",
    "no_tangent",
    "row_major",
    "scan_call",
    "scatter_calls",
    "scatter_window_sizes",
    "sort_call",
    "tangent_aval",
    "threefry2x32",
    "transpose",
    "transpose_program",
    "while_call",
    "write_call",
    "zero_for",
]
