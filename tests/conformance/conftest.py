"""Some programs are about one platform, whatever is the default where the tests run."""

import pytest
import rabbet as rb


@pytest.fixture
def on_the_cpu():
    """What computes on no device in particular does so on the CPU."""
    with rb.config.override(platforms=None, default_device="cpu"):
        yield
