"""``rabbet run-jax`` where the program is not there, cannot be read, or raises."""

import argparse
import sys

import pytest
from rabbet.extend.commands import missing_program
from rabbet_jax import command


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rabbet_jax.install", lambda children=False: None)
    monkeypatch.setattr("sys.argv", ["rabbet"])
    monkeypatch.setattr("sys.path", sys.path[:])

    def one(*arguments):
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        status = command.run(parser.parse_args(list(arguments)))
        return status, capsys.readouterr().err

    return one


def test_what_is_not_there_is_said_in_one_line(run, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "model.py").write_text("raise SystemExit('it was run')")
    assert run("trian.py") == (2, "rabbet run-jax: there is no file 'trian.py'\n")
    assert run("folder") == (
        2, "rabbet run-jax: 'folder' is a folder without a __main__.py; give a file\n",
    )  # fmt: skip
    assert run("-m", "no_such_module") == (2, "rabbet run-jax: there is no module 'no_such_module'\n")
    assert run("-m", "model.py") == (2, "rabbet run-jax: 'model.py' is a file: leave out -m\n")


def test_errors_are_shown_from_the_program_on(run, tmp_path):
    (tmp_path / "model.py").write_text("def f():\n    raise ValueError('no')\nf()\n")
    status, said = run("model.py")
    assert status == 1
    lines = said.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "ValueError: no"
    assert "model.py" in lines[1] and "runpy" not in said and "command.py" not in said
    (tmp_path / "model.py").write_text("x = (")
    status, said = run("model.py")
    assert status == 1 and "runpy" not in said and said.splitlines()[-1].startswith("SyntaxError: '('")


def test_packages_are_not_imported_to_see_whether_they_are_there(tmp_path, monkeypatch):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("raise SystemExit('it was imported')")
    monkeypatch.chdir(tmp_path)
    assert missing_program("pack.inner", module=True) is None
