"""Rows as pytest tests: a test file of a family of primitives asks for them by one line.

Example:
  >>> test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)
"""

import pytest

from rabbet.testing import checks
from rabbet.testing.driver import CORE


def law_tests(rows, system=lambda: CORE):
    """Test functions for rows.

    Args:
      rows: a list of ``table.Row``.
      system: returns the ``driver.System`` whose transformations are tried.

    Returns:
      five functions: values against NumPy, values at infinities and NaN, batching and
        compiling, derivatives, kinds.
    """

    @each(rows)
    def test_value(row):
        checks.check_value(row, row.main_dtype())
        if len(row.known_dtypes()) > 1:
            checks.check_dtypes(row)

    @each([row for row in rows if row.extremes])
    def test_extremes(row):
        checks.check_extremes(row)

    @each(rows)
    def test_mapping(row):
        checks.check_laws(row, ["batching", "compiled"], system())

    @each([row for row in rows if row.orders])
    def test_derivatives(row):
        laws = ["forward", "reverse", "second_order"][: row.orders + 1]
        for dtype in row.smooth_dtypes():
            checks.check_laws(row, laws, system(), dtype)

    @each([row for row in rows if row.primitive.kinds])
    def test_kinds(row):
        checks.check_kinds(row)

    return test_value, test_extremes, test_mapping, test_derivatives, test_kinds


def each(rows):
    """Decorator: a test of one row for each of ``rows``."""
    return pytest.mark.parametrize("row", rows, ids=[row.name for row in rows])


__all__ = ["each", "law_tests"]
