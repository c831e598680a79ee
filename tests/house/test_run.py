"""`run.py test`: environments beside each other, a failure that is told and counts, Ctrl-C that stops all."""

import configparser
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("run_py", ROOT / "run.py")
run_py = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run_py)


def says(text, status=0):
    return [sys.executable, "-c", f"print({text!r}); raise SystemExit({status})"], {}


def test_what_each_prints_comes_with_its_end(tmp_path, capsys):
    assert run_py.beside_each_other({"one": says("hello"), "two": says("there")}, tmp_path) == 0
    printed = capsys.readouterr().out
    for name, text in (("one", "hello"), ("two", "there")):
        assert f"--- {name}\n{text}\n--- {name} passed" in printed
    assert printed.endswith("all passed\n")


def test_one_that_fails_makes_the_whole_fail_and_the_others_run(tmp_path, capsys):
    commands = {"bad": says("no\nFAILED a::b", 3), "good": says("yes"), "later": says("too")}
    assert run_py.beside_each_other(commands, tmp_path) == 1
    printed = capsys.readouterr().out
    assert "--- bad FAILED with exit status 3" in printed
    assert "--- later passed" in printed and printed.endswith("of which these FAILED: bad\n")
    assert "--- what failed in bad:\nFAILED a::b\n3 environments" in printed  # again, where it is found


def test_several_run_at_once(tmp_path):
    """Each waits for the other."""
    wait = "import pathlib, sys, time\npathlib.Path(sys.argv[1]).touch()\n"
    wait += "while not pathlib.Path(sys.argv[2]).exists(): time.sleep(0.01)"
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    commands = {
        "one": ([sys.executable, "-c", wait, a, b], {}),
        "two": ([sys.executable, "-c", wait, b, a], {}),
    }
    assert run_py.beside_each_other(commands, tmp_path / "output") == 0


@pytest.mark.skipif(os.name == "nt", reason="signals to a group of processes")
def test_an_interrupt_stops_all_and_fails(tmp_path):
    program = f"""if True:
        import importlib.util, pathlib, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job ignores
        spec = importlib.util.spec_from_file_location("run_py", {str(ROOT / "run.py")!r})
        run_py = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(run_py)
        sleep = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"], {{}}
        commands = {{"one": sleep, "two": sleep, "three": sleep, "never": sleep}}
        run_py.beside_each_other(commands, pathlib.Path({str(tmp_path)!r}))
    """
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    while not all(
        (tmp_path / f"{name}.txt").exists() and "up" in (tmp_path / f"{name}.txt").read_text()
        for name in ("one", "two", "three")
    ):
        assert child.poll() is None
    os.killpg(child.pid, signal.SIGINT)
    printed, _ = child.communicate()
    assert child.returncode != 0 and "stopped while these ran: one, two, three" in printed
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)  # nobody of the group is left


def test_what_runs_every_night_are_environments():
    text = (ROOT / ".github" / "workflows" / "nightly.yml").read_text()
    (names,) = re.findall(r"name: \[(.*)\]", text)
    known = configparser.ConfigParser(interpolation=None)
    known.read(ROOT / "tox.ini")
    assert [name for name in names.split(", ") if not known.has_section(f"testenv:{name}")] == []


def test_an_environment_gets_the_first_of_its_interpreters_that_is_here(monkeypatch):
    monkeypatch.setattr(run_py, "works", lambda python, *more: python in ("python3.12", "python3.11"))
    assert run_py.with_interpreter("minimal") == ["-x", "testenv:minimal.base_python=python3.12"]
    assert run_py.with_interpreter("lint") == []  # it names one
