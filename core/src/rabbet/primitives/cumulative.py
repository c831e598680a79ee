"""Cumulative reductions along one axis: sum, product, maximum, minimum, logsumexp."""
