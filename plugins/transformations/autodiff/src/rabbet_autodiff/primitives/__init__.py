"""The primitives that differentiation brings, each with all its rules beside it."""
