"""Clients: one per platform, started late, chosen by priority, and never used in a forked child."""

import os
import subprocess
import sys
import threading
import warnings

import pytest
from rabbet.config import Setting, config
from rabbet.errors import MissingPluginError, PluginError, PluginWarning

from .conftest import clients_of, fake_backend


def failing(platform, priority, obstacle=None):
    def make_client(options):
        raise OSError("the hardware said no")

    return fake_backend(platform, priority, make_client=make_client, obstacle=lambda: obstacle)


def test_nothing_starts_until_it_is_asked_for():
    clients = clients_of(cpu=fake_backend(), cuda=fake_backend("cuda", 200))
    assert clients.running() == []
    clients.get("cpu")
    assert [client.platform for client in clients.running()] == ["cpu"]


def test_there_is_one_client_however_many_threads_ask():
    made = []

    def make_client(options):
        made.append(options)
        return fake_backend().make_client(options)

    clients = clients_of(cpu=fake_backend(make_client=make_client))
    found = []
    threads = [threading.Thread(target=lambda: found.append(clients.get("cpu"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(set(map(id, found))) == 1


def test_the_default_is_the_one_of_highest_priority():
    clients = clients_of(cpu=fake_backend(), cuda=fake_backend("cuda", 200))
    assert clients.default().platform == "cuda"
    with config.override(platforms="cpu"):
        assert clients.default().platform == "cpu"
    assert clients.default().platform == "cuda"


def test_a_backend_with_an_obstacle_is_passed_over_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            clients_of(cpu=fake_backend(), cuda=failing("cuda", 200, "no GPU here")).default().platform
            == "cpu"
        )


def test_a_backend_that_should_start_and_does_not_is_reported():
    clients = clients_of(cpu=fake_backend(), cuda=failing("cuda", 200))
    with pytest.warns(
        RuntimeWarning, match="'cuda' backend is installed but does not start: the hardware said no"
    ):
        assert clients.default().platform == "cpu"
    assert isinstance(clients.failures["cuda"], OSError)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clients.default()  # said once


def test_why_a_backend_does_not_start_may_be_explained():
    clients = clients_of(cpu=failing("cpu", 0))
    asked = []
    for reason in (None, TimeoutError("the others did not come")):
        asked.clear()
        clients.configure("cpu", lambda error, reason=reason: asked.append(error) or reason)
        with pytest.raises(PluginError if reason is None else TimeoutError) as caught:
            clients.get("cpu")
        assert asked == [caught.value.__cause__] and "the hardware said no" in str(asked[0])


def test_a_backend_asked_for_by_name_must_start():
    clients = clients_of(cpu=fake_backend(), cuda=failing("cuda", 200, "no GPU here"))
    with config.override(platforms="cuda,cpu"), pytest.raises(PluginError) as caught:
        clients.default()
    assert "the hardware said no" in str(caught.value) and "no GPU here" in str(caught.value)
    assert "platforms that can be used here: cpu" in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(PluginError, match="hardware said no"):
        clients.get("gpu")


def test_a_broken_plugin_does_not_keep_others_from_working():
    clients = clients_of(cpu=fake_backend(), cuda=PluginError("cannot be imported"))
    with pytest.warns(PluginWarning, match="cannot be imported\n  everything else works"):
        assert clients.default().platform == "cpu"


def raising(error):
    def raise_it(*args):
        raise error

    return raise_it


@pytest.mark.parametrize(
    "broken, said",
    [
        ({"make_client": raising(SystemExit("enough"))}, "does not start: enough"),
        ({"make_client": lambda options: None}, "does not start"),
        (
            {"obstacle": raising(KeyError("driver"))},
            r"its function obstacle\(\) \(.*test_clients.py:\d+\) raised KeyError: 'driver'",
        ),
    ],
)
def test_whatever_a_backend_does_another_is_used(broken, said):
    clients = clients_of(cpu=fake_backend(), cuda=fake_backend("cuda", 200, **broken))
    with pytest.warns(RuntimeWarning, match=said):
        assert clients.default().platform == "cpu"


def test_when_nothing_works_every_reason_is_given():
    clients = clients_of(cuda=failing("cuda", 200, "no GPU here"), tpu=PluginError("cannot be imported"))
    with pytest.raises(PluginError) as caught:
        clients.default()
    assert "no GPU here" in str(caught.value) and "cannot be imported" in str(caught.value)


def test_without_any_backend_the_message_names_a_package():
    with pytest.raises(PluginError, match="rabbet-pjrt-cpu"):
        clients_of().default()
    with pytest.raises(MissingPluginError, match="no backend is installed"):
        clients_of().get("cpu")


def test_the_build_of_a_library_is_part_of_the_clients_version():
    def version(**fields):
        return clients_of(cpu=fake_backend(**fields)).default().version

    assert version(build=lambda: "of Tuesday") == f"{version()}\nof Tuesday"


def test_a_setting_that_comes_too_late_is_told():
    setting = Setting("toaster_slots", 2, int, doc="how many", env="TOASTER_SLOTS")
    clients = clients_of(cpu=fake_backend(settings=(setting,)))
    with config.override(platforms="cpu"):
        clients.default()
    with (
        pytest.warns(RuntimeWarning, match=r"toaster_slots = 4 has no effect.*, with 2;.* TOASTER_SLOTS"),
        config.override(toaster_slots=4),
    ):
        pass


def test_options_reach_the_backend():
    clients = clients_of(cpu=fake_backend())
    clients.configure("cpu", num_devices=3)
    assert len(clients.get("cpu").devices) == 3
    with pytest.raises(RuntimeError, match="has started already"):
        clients.configure("cpu", num_devices=4)


FORK = """
import os, sys, warnings
import numpy as np
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.backends import Backend, BackendRegistry
from rabbet.runtime.platforms.clients import Clients, ForkedProcessError
from rabbet.runtime.platforms.devices import Device
backend = Backend(platform='cpu', priority=0, make_client=lambda options: adapter.make_cpu_client(2, False))
class Manager:
    names = lambda self, group: ['cpu']
    get = lambda self, group, name: backend
clients = Clients(BackendRegistry(Manager()), Device)
device = clients.default().devices[0]
dropped = []
clients.on_fork(lambda: dropped.append(1))
warnings.simplefilter('ignore')
child = os.fork()
if child:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert not dropped and device.raw is not None
    sys.exit(status)
refused = 0
client = device.client
for use in (lambda: device.raw, lambda: client.raw, device.memory_stats, client.live_buffers):
    try:
        use()
    except ForkedProcessError as error:
        assert 'spawn' in str(error)
        refused += 1
sys.stdout.flush()
os._exit(0 if refused == 4 and dropped == [1] else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_gets_an_error_and_not_a_deadlock():
    ran = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stderr
