"""What a signal handler raises reaches whoever called, wherever Rabbet is at that moment."""

import importlib.metadata
import os
import signal
import sys
import threading
import time
import types
import warnings
from pathlib import Path

import numpy as np
import pluggy
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.extend.hooks import hookimpl
from rabbet.plugins import discovery, validation
from rabbet.plugins.hooks import Hooks
from rabbet.plugins.manager import PluginManager
from rabbet.rules.unique_names import Names
from rabbet.runtime.caching.disk_cache import ProgramCache


class Alarm(Exception):
    """What the handler raises: an exception as any other, as a TimeoutError is."""


@pytest.fixture
def raised():
    """A handler of SIGALRM and SIGUSR1 that raises; the list of what it raised."""
    kept = []

    def handler(number, frame):
        kept.append(Alarm(number))
        raise kept[-1]

    before = {number: signal.signal(number, handler) for number in (signal.SIGALRM, signal.SIGUSR1)}
    yield kept
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, earlier in before.items():
        signal.signal(number, earlier)


def test_no_exception_of_a_handler_is_lost(raised, monkeypatch):
    x, host = rnp.ones(100), np.ones(100, np.float32)
    product = rb.jit(lambda a, b: a * b + 1)
    of_tree = rb.jit(lambda d: d["a"] + 1)
    product.lower(x, x).compile()
    caught, random = [], np.random.default_rng(0)
    # In what the collector calls, and in finalisers, Python itself drops what is raised, and says so here.
    monkeypatch.setattr(sys, "unraisablehook", lambda told: caught.append(told.exc_value))

    def some_work():
        for _ in range(60):
            product(x, x), product(host, 2.0), of_tree({"a": x})
            rnp.sin(x + x).tolist(), rnp.mean(x), float(x[0])

    some_work()
    while len(raised) < 60:
        try:
            signal.setitimer(signal.ITIMER_REAL, float(random.uniform(1e-5, 5e-4)))
            some_work()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Alarm as error:
            caught.append(error)
    assert caught == raised
    assert product(x, 2.0).tolist() == [3.0] * 100


@pytest.mark.parametrize("door", ["lstat", "open", "stat", "utime", "scandir", "mkdir", "rename"])
def test_an_alarm_that_is_a_timeout_is_no_unreadable_cache(door, tmp_path, monkeypatch):
    """A TimeoutError is an OSError, as what a folder raises that cannot be used."""

    def handler(number, frame):
        raise TimeoutError("it takes too long")

    cache = ProgramCache(tmp_path / "programs", 2**20)
    assert cache.put("a" * 64, b"code")
    place = (Path, "mkdir") if door == "mkdir" else (os, "replace" if door == "rename" else door)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with monkeypatch.context() as patched, warnings.catch_warnings():
            warnings.simplefilter("error")
            patched.setattr(*place, interrupted)
            with pytest.raises(TimeoutError, match="too long"):
                if door in ("lstat", "open", "utime"):
                    cache.get("a" * 64)
                elif door == "stat":
                    cache.size("a" * 64)
                elif door == "scandir":
                    cache.clear()
                else:
                    cache.put("b" * 64, b"code")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert cache.get("a" * 64) == b"code" and cache.put("c" * 64, b"code")


@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "Alarm"])
def test_a_signal_while_a_program_computes_that_calls_python(raised, kind):
    """Python handles it when it is called, at the door of the callback."""
    came = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background processes

    def compute(x):
        for _ in range(3):
            x = x @ x * 1e-3
        shape = rb.ShapeDtypeStruct((), "float32")
        return rb.experimental.io_callback(lambda a: came.append(a) or a, shape, x.sum(), ordered=True)

    step, x = rb.jit(compute), rnp.ones((900, 900))
    step(x).block_until_ready()
    began = time.perf_counter()
    step(x).block_until_ready()
    number = signal.SIGINT if kind == "KeyboardInterrupt" else signal.SIGUSR1
    sender = threading.Timer(
        (time.perf_counter() - began) / 3, signal.pthread_kill, (threading.get_ident(), number)
    )
    try:
        with pytest.raises(KeyboardInterrupt if kind == "KeyboardInterrupt" else Alarm):
            sender.start()
            while sender.is_alive():
                step(x).block_until_ready()
            step(x).block_until_ready()
        sender.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert np.isfinite(step(x).item())


def offer(name, module, group):
    return importlib.metadata.EntryPoint(name, module, group)


def test_a_plugin_whose_import_was_interrupted_can_be_imported_later(raised, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_to_import.py").write_text(
        "import signal, sys\n"
        "if not hasattr(sys, 'slow_to_import_was_here'):\n"
        "    sys.slow_to_import_was_here = True\n"
        "    signal.raise_signal(signal.SIGUSR1)\n"
        "def slow(x):\n    return x\n"
    )
    manager = PluginManager([offer("slow", "slow_to_import:slow", "rabbet.api")], core_version=rb.__version__)
    try:
        with pytest.raises(Alarm):
            manager.get("rabbet.api", "slow")
        assert manager.get("rabbet.api", "slow")(3) == 3
    finally:
        del sys.slow_to_import_was_here
        sys.modules.pop("slow_to_import", None)


def test_a_hook_that_was_interrupted_is_not_blamed(raised, monkeypatch):
    module = types.ModuleType("rabbet_fake_interrupted")
    module.cache_hit = hookimpl(lambda name: signal.raise_signal(signal.SIGUSR1))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    manager = PluginManager([offer("interrupted", module.__name__, "rabbet.hooks")], core_version="0.1.0")
    with warnings.catch_warnings(), pytest.raises(Alarm):
        warnings.simplefilter("error")
        Hooks(manager).notify("cache_hit", name="step")


def interrupted(*args, **kwargs):
    signal.raise_signal(signal.SIGUSR1)


class Interrupted:
    """A distribution, or an object of a plugin's, that is being read when the signal comes."""

    _path = "a place"
    __getattr__ = interrupted


@pytest.mark.parametrize(
    "reader, reading",
    [
        ("entry_points", lambda: discovery.scan("rabbet.api")),
        ("distributions", lambda: discovery.readable("rabbet.api")),
        ("distribution", lambda: discovery.owner(offer("slow", "slow_to_read:slow", "rabbet.api"))),
    ],
)
def test_metadata_that_was_interrupted_is_not_unreadable(raised, monkeypatch, reader, reading):
    monkeypatch.setattr(
        importlib.metadata, reader, (lambda: [Interrupted()]) if reader == "distributions" else interrupted
    )
    with warnings.catch_warnings(), pytest.raises(Alarm):
        warnings.simplefilter("error")
        reading()


@pytest.mark.parametrize("place", ["what it requires", "its version", "its object", "its hooks"])
def test_a_plugin_that_was_being_looked_at_is_not_broken(raised, monkeypatch, place):
    module = types.ModuleType("rabbet_fake_looked_at")
    module.trace_started = hookimpl(lambda name: None)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    group = "rabbet.hooks" if place == "its hooks" else "rabbet.api"
    point = offer("slow", module.__name__, group)
    manager = PluginManager([point], core_version=rb.__version__)
    (record,) = manager.records(group, "slow")
    with monkeypatch.context() as patched, pytest.raises(Alarm):
        if place == "what it requires":
            patched.setattr(discovery, "unmet_requirement", interrupted)
            record.distribution = Interrupted()
        elif place == "its version":
            record.distribution = Interrupted()
            assert record.version is None
        elif place == "its object":
            patched.setitem(validation.CHECKS, group, interrupted)
        else:
            patched.setattr(pluggy.PluginManager, "register", interrupted)
            Hooks(manager).notify("trace_started", name="step")
        manager.get(group, "slow")
    record.distribution = None
    assert manager.get(group, "slow") is module and not record.broken


def test_names_are_listed_while_another_thread_makes_things():
    names, done, interval = Names("thing"), threading.Event(), sys.getswitchinterval()
    things = []

    class Thing:
        def __init__(self, number):
            self.name, self.where = f"thing{number}", types.SimpleNamespace(module="__main__")

    def make():
        for number in range(10_000):
            things.append(Thing(number))
            names.take(things[-1])
        done.set()

    maker = threading.Thread(target=make)
    try:
        sys.setswitchinterval(1e-6)
        maker.start()
        while not done.is_set():
            names.all()
    finally:
        sys.setswitchinterval(interval)
        maker.join()
    assert len(names.all()) == 10_000
