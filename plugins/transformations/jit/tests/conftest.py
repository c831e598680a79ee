"""Every program that these tests make is checked against the grammar."""

import pytest
import rabbet as rb


@pytest.fixture(autouse=True)
def checked_programs():
    with rb.enable_checks():
        yield
