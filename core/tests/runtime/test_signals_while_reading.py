"""An interrupt while NumPy reads an array is not lost, and is told once."""

import signal
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.jaxlib import signals_while_reading

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="Python asks for __buffer__ from 3.12 on")


@pytest.fixture
def interrupted_once(monkeypatch):
    """The next array whose buffer is read is interrupted."""
    value, left = Array._value, [KeyboardInterrupt("stop")]

    def read(self):
        if left:
            raise left.pop()
        return value(self)

    monkeypatch.setattr(Array, "_value", read)


@pytest.mark.parametrize("read", [np.asarray, np.array, lambda x: np.sum(np.asarray(x, np.float64))])
def test_numpy_is_interrupted(interrupted_once, read):
    x = rb.device_put(np.float32([1, 2]))
    with pytest.raises(KeyboardInterrupt, match="stop"):
        read(x)
    assert not signals_while_reading.pending
    assert np.asarray(x).tolist() == [1, 2]


def test_an_interrupt_that_was_heard_is_not_told_again(interrupted_once):
    x, y = rb.device_put(np.float32([1, 2])), rb.device_put(np.float32([3]))
    with pytest.raises(KeyboardInterrupt):
        memoryview(x)
    assert np.asarray(y).tolist() == [3]
    assert np.asarray(x).tolist() == [1, 2]
    assert not signals_while_reading.pending


def test_what_a_signal_handler_raises_is_told_too(monkeypatch):
    class Alarm(Exception):
        pass

    def handler(number, frame):
        raise Alarm("stop")

    value, left = Array._value, [signal.SIGUSR1]

    def read(self):
        if left:
            signal.raise_signal(left.pop())
        return value(self)

    monkeypatch.setattr(Array, "_value", read)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        x = rb.device_put(np.float32([1, 2]))
        with pytest.raises(Alarm, match="stop"):
            np.asarray(x)
        assert not signals_while_reading.pending
        assert np.asarray(x).tolist() == [1, 2]
    finally:
        signal.signal(signal.SIGUSR1, before)
