"""Functions around functions of users, warnings that point at their lines, which lines are Rabbet's,
scopes and attributes for the operations of a block, and how operands are brought together where it matters.
"""

from __future__ import annotations

from rabbet.lax.comparison_operands import comparable, exact_integers
from rabbet.lax.promotion import rank_promotion
from rabbet.lax.refusals import unknown
from rabbet.lowering.attributes import operation_attributes
from rabbet.messages.function_names import name_of, under_name, wraps
from rabbet.messages.second_looks import check_in_the_end, look_again
from rabbet.messages.second_names import second_names
from rabbet.messages.signal_errors import is_of_handler
from rabbet.messages.source_positions import enter_scope, is_internal, leave_scope, short_path, stacklevel
from rabbet.messages.tracebacks import WholeTraceback, hide_frames_of
from rabbet.runtime.execution.dispatch import donating_parts
from rabbet.runtime.execution.frames import FrameParts, offered_frame

__all__ = [
    "FrameParts",
    "WholeTraceback",
    "check_in_the_end",
    "comparable",
    "donating_parts",
    "enter_scope",
    "exact_integers",
    "hide_frames_of",
    "is_internal",
    "is_of_handler",
    "leave_scope",
    "look_again",
    "name_of",
    "offered_frame",
    "operation_attributes",
    "rank_promotion",
    "second_names",
    "short_path",
    "stacklevel",
    "under_name",
    "unknown",
    "wraps",
]


def __dir__() -> list[str]:
    return list(__all__)
