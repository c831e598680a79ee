"""Passes: programs to better programs, between tracing and lowering."""

from rabbet.passes.pipeline import Pass, PassContext, all_passes, blame, run, selected, set_finder

__all__ = ["Pass", "PassContext", "all_passes", "blame", "run", "selected", "set_finder"]
