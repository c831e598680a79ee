"""Documents cannot drift: the generated page is the code's, and every public name has something to say."""

import inspect
import pathlib
import re
import subprocess
import sys

import pytest
import rabbet.errors

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("tool", ["reference.py", "closure.py", "primitives.py", "codebases_page.py"])
def test_the_generated_page_is_up_to_date(tool):
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "write" / tool), "--check"], capture_output=True, text=True
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


def test_every_variable_of_a_message_is_documented():
    """What an error tells people to set is explained on a page, or listed as a setting."""
    code = [
        file
        for top in ("core", "plugins", "pjrt_cpu", "pjrt_cuda", "pjrt_tpu")
        for file in (ROOT / top).rglob("src/**/*.py")
    ]
    told = {name for file in code for name in re.findall(r"RABBET_[A-Z_]*[A-Z]", file.read_text())}
    assert {"RABBET_PREFER", "RABBET_DISABLE_PASSES"} <= told
    pages = "\n".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    own = {
        "RABBET_COORDINATOR_STARTED",
        "RABBET_RAY_ATTEMPT",
    }  # between processes of rabbet-distributed and rabbet-ray
    listed = {f"RABBET_{name.upper()}" for name in re.findall(r"(?m)^\| `([a-z_]+)` \|", pages)}
    assert sorted(name for name in told - own - listed if name not in pages) == []
