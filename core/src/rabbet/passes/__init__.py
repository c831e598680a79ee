"""Passes: programs to better programs, between tracing and lowering."""

from rabbet.passes.pipeline import (
    Pass,
    PassContext,
    all_passes,
    blame,
    first_line,
    run,
    selected,
    set_finder,
    set_teller,
)

__passes_operations_on__ = True

__all__ = [
    "Pass", "PassContext", "all_passes", "blame", "first_line", "run", "selected", "set_finder", "set_teller",
]  # fmt: skip
