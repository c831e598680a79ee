"""Who, where, and what next: source positions, tracebacks, names of arguments."""

__passes_operations_on__ = True
