"""What is here needs eight devices; elsewhere ``test_in_children`` runs it in a process that has them."""

import os

import pytest

if os.environ.get("RABBET_NUM_CPU_DEVICES") != "8":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def checked_programs():
    import rabbet as rb

    with rb.enable_checks():
        yield
