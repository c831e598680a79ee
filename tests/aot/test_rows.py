"""Every row of the conformance table compiles for a TPU and for a GPU that are not here.

What cannot is listed, with the compiler's reason, in docs/platforms.md; tools/write/platforms.py writes it.
"""

import page
import pytest
import results

pytestmark = pytest.mark.needs("jit", "bfloat16")


@pytest.mark.parametrize("family", results.FAMILIES)
def test_rows_compile(platform, family):
    listed = page.listed(platform)
    found = results.failures(platform, family)
    known = {name for name in results.names(family) if (family, name) in listed}
    told = "\n".join(f"  {name}: {reason}" for name, reason in found.items())
    assert set(found) == known, f"not as docs/platforms.md says; refused were:\n{told or '  none'}"


def test_only_rows_that_exist_are_listed(platform):
    there = {(family, name) for family in results.FAMILIES for name in results.names(family)}
    assert set(page.listed(platform)) <= there
