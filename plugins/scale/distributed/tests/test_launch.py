"""``rabbet launch``."""

import argparse
import io
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from rabbet_distributed import launch as command
from rabbet_distributed.coordinator import LEVEL, _quiet
from rabbet_distributed.launch import Lines

pytestmark = [pytest.mark.library, pytest.mark.needs("cpu")]


def launch(together, *arguments):
    together.start(["-m", "rabbet", "launch", *arguments])
    ended = together.wait()
    return ended.statuses[0], ended.said[0]


def test_all_end_when_one_fails(together):
    status, said = launch(together, "-n", "3", together.programs / "one_fails.py", "--its", "own")
    assert status == 7, said
    for rank in range(3):
        assert f"[{rank}] process {rank} of 3: ['--its', 'own']" in said, said
        assert f"[{rank}] a line without an end\n" in said
    assert "rabbet launch: process 1 ended with exit status 7; all are ended" in said


def test_a_process_that_a_signal_ended_is_said_to_be(together, tmp_path):
    program = tmp_path / "ends_itself.py"
    program.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    status, said = launch(together, "-n", "1", program)
    assert status == 128 + signal.SIGTERM
    assert "rabbet launch: process 0 ended with exit status 143 (by SIGTERM); all are ended" in said


def test_elastic(together, tmp_path):
    died = tmp_path / "died"
    status, said = launch(together, "-n", "3", "--elastic", together.programs / "elastic.py", died)
    assert status == 0, said
    assert said.count("[1] slot 1 has started") == 2 and said.count("has started") == 4, said
    assert "[1] slot 1 saw [3]" in said, said
    for slot in (0, 2):  # alone for a while, unless the third was back that soon
        assert f"[{slot}] slot {slot} saw [2, 3]" in said or f"[{slot}] slot {slot} saw [3]" in said, said


def test_all_are_started_again(together, tmp_path):
    program = together.programs / "all_fail.py"
    status, said = launch(together, "-n", "2", "--elastic", program, tmp_path / "died")
    assert status == 0 and said.count("all is well") == 2, said


def test_a_program_that_is_not_there(together):
    status, said = launch(together, "-n", "1", "nowhere.py")
    assert (status, said) == (2, "rabbet launch: there is no file 'nowhere.py'\n")


def test_what_libraries_say_where_all_is_well_is_left_out():
    out = io.StringIO()
    lines = Lines(0, out)
    lines.add(b"[Gloo] Rank 0 is connected to 1 peer ranks. Expected number: 1\nus")
    lines.add(b"er\nW1128 coordination_service.cc:185] Using experimental recoverable task feature. The\n")
    lines.add(b"[Gloo] Error\n")
    assert out.getvalue() == "[0] user\n[0] [Gloo] Error\n"


@pytest.mark.parametrize("level", [None, "0", "1", "3"])
def test_the_coordinator_warns_where_the_user_wants_it(level):
    given = {"A": "b"} if level is None else {LEVEL: level}
    assert _quiet(given)[LEVEL] == (level if level in ("0", "3") else "2")


def eventually_gone(pid):
    """Whether a process ends, or is nobody's any more but its parent's to be asked after."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat") as state:
                if state.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("status", [0, 3])
def test_all_is_said_and_nobody_stays(together, status):
    found, said = launch(together, "-n", "1", together.programs / "leaves_children.py", status)
    assert found == status, said[-500:]
    assert said.count("#") == 300_000 and "|the end\n" in said
    (child,) = re.findall(r"\[0\] child (\d+)", said)
    assert eventually_gone(int(child))


def started_launch(together, **options):
    command = [sys.executable, "-m", "rabbet", "launch", "-n", "2", together.programs / "talks.py"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, **options)


def pids_of(launched):
    """The processes that a launcher has started, by what they say."""
    found = set()
    while len(found) < 2:
        found |= {int(n) for n in re.findall(r"process (\d+)", launched.stdout.readline())}
    return found


def test_told_to_end(together):
    with started_launch(together, stderr=subprocess.PIPE) as launched:
        pids = pids_of(launched)
        launched.send_signal(signal.SIGTERM)
        said, why = launched.communicate(timeout=600)
    assert launched.returncode == 128 + signal.SIGTERM
    assert "rabbet launch: it was sent SIGTERM; all are ended\n" in why
    assert said.count("told to end\n") == 2  # a child may be in the middle of another line
    assert all(eventually_gone(pid) for pid in pids)


@pytest.mark.parametrize("how", ["nobody reads", "killed"])
def test_nobody_stays_behind(together, how):
    with started_launch(together, stderr=subprocess.PIPE) as launched:
        pids = pids_of(launched)
        if how == "killed":
            launched.kill()
        launched.stdout.close()
        said = launched.stderr.read()
    expected = -signal.SIGKILL if how == "killed" else 128 + signal.SIGPIPE
    assert launched.returncode == expected and "Traceback" not in said, said
    assert all(eventually_gone(pid) for pid in pids)


@pytest.mark.parametrize("elastic", [True, False])
def test_the_coordinator_dies(together, tmp_path, elastic):
    options = ["--elastic"] if elastic else []
    program = together.programs / "no_coordinator.py"
    status, said = launch(together, "-n", "2", *options, program, tmp_path / "died", tmp_path / "kept")
    again = "started again" if elastic else "ended"
    assert f"rabbet launch: the coordinator has ended; all are {again}" in said, said
    assert "bad_cast" not in said, said
    assert status == (0 if elastic else 1) and said.count("all is well") == (2 if elastic else 0), said
    assert said.count("begins at 3") == (2 if elastic else 0), said


def test_a_process_says_that_its_coordinator_is_gone(together):
    """One that nobody launched: the process ends with a status of its own, having said what it printed."""
    ended = together("loses_coordinator.py", 1)
    assert ended.statuses == [75], ended
    assert "printed before" in ended.said[0] and "is gone, and process 0, which was attached" in ended.said[0]
    assert "bad_cast" not in ended.said[0], ended


@pytest.mark.parametrize("options, message", [
    (["-n", "0"], "-n must be at least 1"),
    (["--max-restarts", "2"], "--max-restarts has an effect with --elastic only"),
    (["--elastic", "--max-restarts", "-1"], "--max-restarts must not be negative"),
    (["--cpu-devices", "0"], "--cpu-devices must be at least 1"),
    (["--port", "65536"], "--port must be between 1 and 65535"),
    (["--port", "-1"], "--port must be between 1 and 65535"),
])  # fmt: skip
def test_options_that_are_wrong_or_do_nothing_are_refused(tmp_path, capsys, options, message):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    (tmp_path / "good.py").write_text("")
    assert command.run(parser.parse_args([*options, str(tmp_path / "good.py")])) == 2
    assert message in capsys.readouterr().err
