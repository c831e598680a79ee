"""Functions of single elements or lines, applied to whole arrays."""

__passes_operations_on__ = True
