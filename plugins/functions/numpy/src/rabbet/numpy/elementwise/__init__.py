"""Functions of each element by itself."""

__passes_operations_on__ = True
