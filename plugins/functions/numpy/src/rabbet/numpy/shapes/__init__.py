"""The same elements in other shapes, put together, moved, padded."""

__passes_operations_on__ = True
