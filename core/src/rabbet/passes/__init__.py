"""Passes: programs to better programs, between tracing and lowering."""

from rabbet.passes.pipeline import Pass, all_passes, run, set_finder

__all__ = ["Pass", "all_passes", "run", "set_finder"]
