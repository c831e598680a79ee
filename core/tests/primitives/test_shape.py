"""The laws of ``primitives/shape.py``, then its corners and messages."""

from rabbet.testing.rows.shape import ROWS
from rabbet.testing.suite import law_tests

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)
