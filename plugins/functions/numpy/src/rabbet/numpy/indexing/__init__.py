"""Reading, finding and changing elements at positions."""

__passes_operations_on__ = True
