"""``rabbet launch``."""

import pytest

pytestmark = pytest.mark.needs("cpu")


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
    assert status == 2 and "[0]" in said and "nowhere.py" in said
