"""Two processes: arrays, programs and the small programs over all of them."""

import pytest

pytestmark = pytest.mark.needs("cpu", "numpy")


def test_arrays_and_programs(together):
    secret = {"RABBET_JOB_SECRET": "0123456789abcdef", "RABBET_CACHE": "0"}
    ended = together("arrays.py", 2, RABBET_NUM_CPU_DEVICES="2", **secret)
    assert ended.statuses == [0, 0], ended
    assert all("all is well" in text for text in ended.said)
    assert not any("Gloo" in text or "recoverable" in text for text in ended.said), ended


def test_utilities(together):
    ended = together("utilities.py", 2)
    assert ended.statuses == [0, 0], ended
    assert all("all is well" in text for text in ended.said)


def test_pmap(together):
    ended = together("mapped.py", 2, RABBET_NUM_CPU_DEVICES="2")
    assert ended.statuses == [0, 0], ended
    assert all("all is well" in text for text in ended.said)
