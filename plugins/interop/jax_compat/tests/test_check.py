"""``rabbet check``: what a project uses of JAX, read and not run."""

import argparse
import json
import os

import pytest
from rabbet_jax import check_command, reading_projects

PROGRAM = """
import os
import jax
import jax.numpy as jnp
from jax import lax, grad as g
from jax._src import core
from jax.experimental import no_such_module

raise SystemExit("it was run")


def f(x):
    return jnp.linalg.norm(x) + lax.cummax(x) + jnp.no_such_name(x) + g(jnp.sin)(x) + jax.make_mesh((1,), "x")
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "model.py").write_text(PROGRAM)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "other.py").write_text("import jax.made_up")
    return tmp_path


def check(capsys, *arguments):
    parser = argparse.ArgumentParser()
    check_command.add_arguments(parser)
    status = check_command.run(parser.parse_args(list(map(str, arguments))))
    return status, capsys.readouterr()


def test_each_name_has_its_state(project, capsys):
    status, out = check(capsys, project, "--json")
    states = {row["name"]: row["state"] for row in json.loads(out.out)["names"]}
    assert status == 1
    assert states["jax.numpy.linalg.norm"] == states["jax.numpy.sin"] == states["jax.grad"] == "here"
    assert states["jax.numpy.no_such_name"] == states["jax.experimental.no_such_module"] == "absent"
    assert states["jax.lax.cummax"] == states["jax.make_mesh"] == "differs"
    assert states["jax._src.core"] == "private"
    assert not any("made_up" in name for name in states)


def test_the_table_says_where_and_what_to_do(project, capsys):
    status, out = check(capsys, project)
    assert status == 1
    assert out.out.splitlines()[0].startswith("11 names of JAX: 2 absent, 1 private")
    (line,) = [line for line in out.out.splitlines() if line.startswith("jax.numpy.no_such_name")]
    assert "model.py:13" in line
    assert "coming-from-jax.md" in line


def test_a_project_that_has_all_succeeds(tmp_path, capsys):
    (tmp_path / "a.py").write_text("import jax.numpy as jnp\nx = jnp.ones(3).sum()\n")
    assert check(capsys, tmp_path)[0] == 0


def test_what_is_no_python_is_told(tmp_path, capsys):
    (tmp_path / "a.py").write_text("def (")
    status, out = check(capsys, tmp_path)
    assert status == 2
    assert "not read" in out.err
    assert check(capsys, tmp_path / "nowhere")[0] == 2
    assert check(capsys, tmp_path, "--apply")[0] == 2


def test_what_differs_is_on_the_page_and_here():
    for name in reading_projects.DIFFERENT:
        assert reading_projects.look_up(name).state == "differs"


def test_imports_are_rewritten_and_the_rest_is_left_alone(project, capsys):
    pytest.importorskip("libcst")
    status, out = check(capsys, project / "model.py", "--rewrite")
    assert status == 1
    assert "+import rabbet as jax\n" in out.out
    assert "+import rabbet.numpy as jnp\n" in out.out
    assert "+from rabbet import lax, grad as g\n" in out.out
    assert "no_such_module" in out.err
    assert (project / "model.py").read_text() == PROGRAM
    check(capsys, project / "model.py", "--rewrite", "--apply")
    changed = (project / "model.py").read_text()
    assert "import rabbet.numpy as jnp" in changed
    assert "from jax._src import core" in changed
    assert changed.splitlines()[8:] == PROGRAM.splitlines()[8:]


@pytest.mark.parametrize("option", [(), ("--rewrite",)])
@pytest.mark.parametrize("text", [
    "import jax\njax" + ".a" * 2000, "import jax\nx = " + "(" * 3000 + ")" * 3000,
    "x = " + "+".join("1" * 9000), "import jax\nx = " + "lambda: " * 2500 + "1",
])  # fmt: skip
def test_a_file_that_goes_too_deep_is_told(tmp_path, capsys, text, option):
    if option:
        pytest.importorskip("libcst")  # which ends the process, or takes minutes
    (tmp_path / "deep.py").write_text(text)
    assert check_command.run(parsed(str(tmp_path), *option)) == 2
    said = capsys.readouterr()
    assert "within each other" in said.out + said.err or "nested parentheses" in said.out + said.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_pipes_are_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "itself.py").symlink_to("itself.py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder.py" / "one.py").write_text("import jax\n")
    assert check_command.run(parsed(str(tmp_path))) == 0
    said = capsys.readouterr()
    assert "1 names of JAX" in said.out and "itself.py" in said.out + said.err
    assert check_command.run(parsed(str(tmp_path / "pipe.py"))) == 2
    assert "neither a file nor a folder" in capsys.readouterr().err


def parsed(*arguments):
    """The command line, taken apart."""
    parser = argparse.ArgumentParser()
    check_command.add_arguments(parser)
    return parser.parse_args(arguments)
