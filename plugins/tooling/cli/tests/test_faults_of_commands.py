"""What ``rabbet`` says where a file cannot be had, and where somebody interrupts it."""

import types

import pytest
from rabbet_cli import command


@pytest.fixture
def having(monkeypatch):
    """Makes the command ``thing`` do something."""

    def have(run):
        thing = types.SimpleNamespace(HELP="do it", add_arguments=lambda parser: None, run=run)
        monkeypatch.setitem(command.COMMANDS, "thing", thing)
        return command.main(["thing"])

    return have


def test_a_file_that_cannot_be_had_is_named(having, capsys, tmp_path):
    assert having(lambda args: (tmp_path / "none").read_text()) == 1
    assert capsys.readouterr().err == f"rabbet thing: {tmp_path / 'none'}: No such file or directory\n"
    assert having(lambda args: tmp_path.read_text()) == 1
    assert capsys.readouterr().err == f"rabbet thing: {tmp_path}: Is a directory\n"


def test_other_errors_are_shown_whole(having):
    with pytest.raises(OSError, match="about no file"):
        having(lambda args: (_ for _ in ()).throw(OSError("about no file")))


def test_an_interrupt_is_no_traceback(having, capsys):
    def interrupted(args):
        raise KeyboardInterrupt

    assert having(interrupted) == 130
    assert capsys.readouterr().err == "rabbet thing: interrupted\n"
