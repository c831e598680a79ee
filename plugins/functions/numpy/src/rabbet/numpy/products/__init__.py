"""Products of vectors and matrices, and Einstein sums."""

__passes_operations_on__ = True
