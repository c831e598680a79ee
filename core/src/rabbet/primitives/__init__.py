"""The primitives, one module per family; each stands beside all its standard rules."""

__passes_operations_on__ = True
