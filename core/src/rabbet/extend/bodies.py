"""Programs within programs: staging the functions that a primitive carries, and taking interpreters through
them.
"""

from rabbet.lax.control import (
    Body,
    scan_as,
    settled,
    steps_of,
    stronger,
)
from rabbet.primitives.branches import (
    transposed_whole,
    with_all_consts,
)
from rabbet.primitives.transposition import add_to, backward, transpose_program, transposed
from rabbet.trace.bodies import (
    HOLE,
    PLAIN,
    STATE,
    by_model,
    forced,
    interpret,
    join_all,
    number_of_leaves,
    put_together,
    take_apart,
    through,
)
from rabbet.trace.carrying import (
    Passage,
    Under,
    is_mine,
)

__all__ = [
    "HOLE",
    "PLAIN",
    "STATE",
    "Body",
    "Passage",
    "Under",
    "add_to",
    "backward",
    "by_model",
    "forced",
    "interpret",
    "is_mine",
    "join_all",
    "number_of_leaves",
    "put_together",
    "scan_as",
    "settled",
    "steps_of",
    "stronger",
    "take_apart",
    "through",
    "transpose_program",
    "transposed",
    "transposed_whole",
    "with_all_consts",
]


def __dir__():
    return list(__all__)
