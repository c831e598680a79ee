"""jaxlib is loaded where no signal disturbs it."""

import os
import signal
import sys
import threading

import pytest
from rabbet.tree import loading

SIGNALS = """
import os, signal, threading

signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
os.read(PIPE, 1)  # until it has come: the system may take its time
for _ in range(1000):  # here what a handler raises would end the import, if it ran here
    pass
whole = threading.get_ident()
"""


class Rung(Exception):
    """What the handler raises."""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda text: (tmp_path / "rabbet_fake_native.py").write_text(text)
    sys.modules.pop("rabbet_fake_native", None)


def test_what_a_handler_raises_while_a_module_is_loaded_is_raised_when_it_is_whole(module):
    def handler(number, frame):
        raise Rung

    came, tell = os.pipe()
    os.set_blocking(tell, False)
    module(SIGNALS.replace("PIPE", str(came)))
    before = signal.signal(signal.SIGUSR1, handler), signal.set_wakeup_fd(tell)
    try:
        with pytest.raises(Rung):
            loading.load("rabbet_fake_native")
    finally:
        signal.signal(signal.SIGUSR1, before[0])
        signal.set_wakeup_fd(before[1])
        os.close(came)
        os.close(tell)
    assert sys.modules["rabbet_fake_native"].whole != threading.get_ident()


def test_what_cannot_be_loaded_is_left_to_whoever_imports_it(module):
    module("raise ImportError('no such library')")
    loading.load("rabbet_fake_native")
    with pytest.raises(ImportError, match="no such library"):
        import rabbet_fake_native  # noqa: F401
