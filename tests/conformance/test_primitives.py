"""Every primitive of core under the transformations that users see.

The laws are those that core's own tests check with a driver of their own.
"""

import importlib
import pkgutil

import pytest
from rabbet.testing import checks, driver, rows
from rabbet.testing.suite import each

FAMILIES = [module.name for module in pkgutil.iter_modules(rows.__path__)]
ROWS = [row for name in FAMILIES for row in importlib.import_module(f"rabbet.testing.rows.{name}").ROWS]

pytestmark = pytest.mark.needs("jvp", "vjp", "vmap", "jit")


@each(ROWS)
def test_mapping(row):
    checks.check_laws(row, ["batching", "compiled"], driver.plugins())


@each([row for row in ROWS if row.orders])
def test_derivatives(row):
    laws = ["forward", "reverse", "second_order"][: row.orders + 1]
    for dtype in row.smooth_dtypes():
        checks.check_laws(row, laws, driver.plugins(), dtype)
