"""Products of vectors and matrices, and Einstein sums."""
