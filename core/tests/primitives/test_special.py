"""The laws of the special functions, then wide ranges, corners and messages."""

from rabbet.testing.rows.special import ROWS
from rabbet.testing.suite import law_tests

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)
