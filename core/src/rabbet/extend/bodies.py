"""Programs within programs: what primitives that carry some are made of, and ways through them."""

from rabbet.lax.loops import convert_weak_outputs, named_scan, number_of_steps, stage_loop_body
from rabbet.lax.staged import Body
from rabbet.primitives.branches import fully_transposed, share_consts
from rabbet.primitives.transposition import add_to, backward, transpose_program, transposed_program
from rabbet.trace.bodies import (
    HOLE,
    PLAIN,
    STATE,
    apply_derived_rule,
    count_leaves,
    force_payload,
    interpret,
    interpret_call,
    join_structures,
    put_together,
    take_apart,
)
from rabbet.trace.carrying import Passage, Under, is_tracer_of

__all__ = [
    "HOLE",
    "PLAIN",
    "STATE",
    "Body",
    "Passage",
    "Under",
    "add_to",
    "apply_derived_rule",
    "backward",
    "convert_weak_outputs",
    "count_leaves",
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


def __dir__():
    return list(__all__)
