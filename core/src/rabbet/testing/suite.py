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
      five functions: values against NumPy in each dtype, values at infinities and NaN, batching and
        compiling, derivatives, kinds.
    """

    @each_dtype(rows)
    def test_value(row, dtype):
        checks.check_value(row, dtype)

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


def each_dtype(rows):
    """Decorator: a test of a row and a dtype for each of ``rows`` and its dtypes."""
    pairs = [(row, dtype) for row in rows for dtype in row.dtypes]

    def decorate(test):
        def of_installed(row, dtype):
            if dtype not in row.known_dtypes():
                pytest.skip(f"no installed package provides {dtype}")
            test(row, dtype)

        of_installed.__name__ = test.__name__
        return pytest.mark.parametrize("row, dtype", pairs, ids=[f"{r.name}-{d}" for r, d in pairs])(
            of_installed
        )

    return decorate


__all__ = ["each", "each_dtype", "law_tests"]
