"""The badge says what the report says."""

import subprocess
import sys

import pytest
from rabbet.testing.badge import badge

REPORT = (
    '<testsuites><testsuite name="pytest" errors="{e}" failures="{f}" skipped="0" tests="{n}"></testsuite>'
)


def test_what_passed_and_what_failed():
    assert ": passed" in badge(REPORT.format(e=0, f=0, n=3)) and "jaxlib" in badge(
        REPORT.format(e=0, f=0, n=3)
    )
    assert ": 3 failed" in badge(REPORT.format(e=1, f=2, n=9))
    with pytest.raises(ValueError, match="no tests"):
        badge("<testsuite>")


def test_as_a_program(tmp_path):
    (tmp_path / "tests.xml").write_text(REPORT.format(e=0, f=0, n=1))
    command = [
        sys.executable,
        "-m",
        "rabbet.testing.badge",
        str(tmp_path / "tests.xml"),
        str(tmp_path / "b.svg"),
    ]
    subprocess.run(command, check=True)
    assert (tmp_path / "b.svg").read_text().startswith("<svg")
