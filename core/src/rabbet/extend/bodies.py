"""Programs within programs: what primitives that carry some are made of, and ways through them."""

from __future__ import annotations

from rabbet.lax.loops import convert_weak_outputs, named_scan, number_of_steps, stage_loop_body
from rabbet.lax.staged_functions import Body
from rabbet.primitives.branches import fully_transposed, share_consts
from rabbet.primitives.transposition import add_to, backward, transpose_program, transposed_program
from rabbet.trace.bodies import apply_derived_rule, entering, follows, interpret, interpret_call
from rabbet.trace.payload_parts import (
    HOLE,
    PLAIN,
    STATE,
    count_leaves,
    force_payload,
    is_tracer_of,
    join_structures,
    put_together,
    take_apart,
)

__all__ = [
    "HOLE",
    "PLAIN",
    "STATE",
    "Body",
    "add_to",
    "apply_derived_rule",
    "backward",
    "convert_weak_outputs",
    "count_leaves",
    "entering",
    "follows",
    "force_payload",
    "fully_transposed",
    "interpret",
    "interpret_call",
    "is_tracer_of",
    "join_structures",
    "named_scan",
    "number_of_steps",
    "put_together",
    "share_consts",
    "stage_loop_body",
    "take_apart",
    "transpose_program",
    "transposed_program",
]


def __dir__() -> list[str]:
    return list(__all__)
