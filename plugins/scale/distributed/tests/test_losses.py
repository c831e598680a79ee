"""What happens when processes are lost, stuck, or do something else; and when they do not come at all."""

import signal

import pytest

pytestmark = pytest.mark.needs("cpu", "numpy")


def test_the_others_go_on(together):
    ended = together("losses.py", 3)
    assert ended.statuses == [0, 0, -signal.SIGKILL], ended
    assert all("all is well" in text for text in ended.said[:2])


def test_stopped_and_ended(together):
    ended = together("silent.py", 3)
    assert ended.statuses == [0, 0, 1], ended
    assert "all is well" in ended.said[0] and "all is well" in ended.said[1], ended
    assert "ValueError: on purpose" in ended.said[2]


def test_failures_at_the_start_are_exceptions(together):
    cases = ("alone", "nobody", "taken", "late", "one")
    for case in cases:
        together.start([together.programs / "starts.py", case, together.free_port()])
    ended = together.wait()
    assert ended.statuses == [0] * len(cases), ended
    assert all("6.0 all is well" in text for text in ended.said), ended


def test_killed_before_the_devices_are_listed(together):
    """The runtime below would wait for it for minutes."""
    ended = together("early.py", 3)
    assert ended.statuses == [0, 0, -signal.SIGKILL], ended
    assert all("all is well" in text for text in ended.said[:2]), ended
