"""Every primitive of core under the transformations that users see.

The laws are those that core's own tests check with a driver of their own.
"""

import pytest
from rabbet.testing import checks, driver, rows
from rabbet.testing.suite import each

FAMILIES = list(rows.families().values())
ROWS = [row for family in FAMILIES for row in family]
# One row per family is enough where only the way of running differs.
SAMPLE = [
    next(row for row in family if row.orders) for family in FAMILIES if any(row.orders for row in family)
]

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized, pytest.mark.needs("jvp", "vjp", "vmap", "jit")]


@each(ROWS)
def test_mapping(row):
    checks.check_laws(row, ["batching", "compiled"], driver.plugins())


@each([row for row in ROWS if row.orders])
def test_derivatives(row):
    laws = ["forward", "reverse", "second_order"][: row.orders + 1]
    for dtype in row.smooth_dtypes():
        checks.check_laws(row, laws, driver.plugins(), dtype)


@each([row for row in ROWS if row.inputs])
def test_nesting(row):
    """Batches of batches, and derivatives of batches and batches of derivatives."""
    names = ["nested", "nested_derivatives"] if row.orders else ["nested"]
    checks.check_laws(row, names, driver.plugins(), next(iter(row.smooth_dtypes()), None))


@each(SAMPLE)
def test_without_compiling(row):
    """The transformations work on arrays as they do inside programs."""
    for dtype in row.smooth_dtypes()[:1]:
        checks.check_laws(row, ["forward", "reverse", "batching"], driver.plugins(), dtype, staged=False)
