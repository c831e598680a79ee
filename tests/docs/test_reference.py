"""Documents cannot drift: the generated page is the code's, and every public name has something to say."""

import inspect
import pathlib
import subprocess
import sys

import pytest
import rabbet.errors

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("tool", ["reference.py", "closure.py"])
def test_the_generated_page_is_up_to_date(tool):
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / tool), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_error_is_on_its_page():
    page = (ROOT / "docs" / "errors.md").read_text()
    public = [
        name
        for name, thing in vars(rabbet.errors).items()
        if inspect.isclass(thing)
        and issubclass(thing, Exception | Warning)
        and thing.__module__ == "rabbet.errors"
    ]
    assert public
    assert [name for name in public if f"`{name}`" not in page] == []


def test_every_command_of_the_command_line_is_documented():
    done = subprocess.run([sys.executable, "-m", "rabbet", "--help"], capture_output=True, text=True)
    page = (ROOT / "docs" / "installing.md").read_text()
    for command in ("plugins", "devices", "doctor", "passes", "cache", "explain", "new-plugin"):
        assert command in done.stdout
        assert f"rabbet {command}" in page
