"""A third party's package in an environment of its own: found, listed, explained, switched off."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "third_party"


def python(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}
    )


def cli(*arguments):
    return subprocess.run([sys.executable, "-m", "rabbet", *arguments], capture_output=True, text=True)


def test_the_environment_is_the_one_that_is_meant():
    ours = {d.name for d in importlib.metadata.distributions() if d.name.startswith("rabbet")}
    assert ours == {
        "rabbet-core",
        "rabbet-pjrt-cpu",
        "rabbet-jit",
        "rabbet-vmap",
        "rabbet-autodiff",
        "rabbet-numpy",
        "rabbet-linalg",  # which rabbet-numpy requires, as the next one
        "rabbet-fft",
        "rabbet-special",
        "rabbet-algorithms",
        "rabbet-custom-rules",
        "rabbet-cli",
        "rabbet-ffi",
        "rabbet-gelu",
        "rabbet-enclose",
        "rabbet-roots",
        "rabbet-callbacks",
        "rabbet-pallas",
        "rabbet-unrolled",
        "rabbet-random",
        "rabbet-ref",  # which rabbet-random requires
        "rabbet-testing",
        "rabbet-chance",
        "rabbet-posit",
    }


def test_it_is_loaded_when_first_touched_and_not_before():
    done = python(
        "import sys, rabbet as rb; assert 'rabbet_enclose' not in sys.modules; "
        "rb.enclose; assert 'rabbet_enclose' in sys.modules"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["rabbet-enclose", "rabbet-roots", "rabbet-chance", "rabbet-posit"])
def test_the_program_of_its_readme(name, capsys):
    readme = (EXAMPLES / name / "README.md").read_text()
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", readme, re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out == shown


def test_it_is_listed_with_its_package():
    done = cli("plugins")
    assert done.returncode == 0, done.stderr
    assert "enclose" in done.stdout
    assert "rabbet-enclose" in done.stdout


def test_it_can_be_switched_off():
    done = python("import rabbet as rb; rb.jit; rb.enclose", RABBET_DISABLE_PLUGINS="rabbet-enclose")
    assert done.returncode == 1
    assert "MissingPluginError" in done.stderr or "PluginError" in done.stderr
    assert "enclose" in done.stderr


def test_the_table_of_a_stranger_is_explained_beside_the_standard_ones():
    done = cli("explain", "mul")
    assert done.returncode == 0, done.stderr
    for table in ("lower", "jvp", "batch"):
        assert table in done.stdout
