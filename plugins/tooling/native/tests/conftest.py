"""For tests of how frames pass captured arrays on."""

import pytest
import rabbet as rb


@pytest.fixture
def captured_arrays_are_arguments():
    """Small ones are too."""
    with rb.config.override(captured_constants_written_bytes=0):
        yield
