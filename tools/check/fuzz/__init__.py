"""A differential fuzzer: random programs, run in ways that must agree. ``python tools/check/fuzz --help``."""
