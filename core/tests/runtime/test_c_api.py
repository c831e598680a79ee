"""Backends out of PJRT plugin libraries: everything that is said and checked before one is loaded."""

import platform as machine
import struct

import pytest
from rabbet.errors import PluginError
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.c_api import CApiBackend, find_library, foreign

ADVICE = "install it with: python -m pip install toaster-sdk"


def elf(path, number):
    """A file that looks like a shared library for processors of one kind."""
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, number) + bytes(64))
    return path


@pytest.fixture
def here(tmp_path):
    """A file that looks like a library for this machine, and is none."""
    return elf(tmp_path / "libtoaster.so", {"x86_64": 62, "aarch64": 183}.get(machine.machine(), 0))


def backend(library, **fields):
    return CApiBackend("toaster", library, advice=ADVICE, **fields)


def test_the_value(here):
    made = backend(here, native_dtypes=frozenset({"float32"}))
    assert (made.platform, made.priority, made.native_dtypes) == ("toaster", 100, {"float32"})
    assert made.obstacle() is None
    assert made.topology is None
    assert made.plugin.path() == here


@pytest.mark.parametrize("library", [None, lambda: None], ids=["unknown", "not found"])
def test_a_library_that_is_missing(library):
    made = backend(library)
    assert made.obstacle() == f"no PJRT library for 'toaster' is installed; {ADVICE}"
    with pytest.raises(PluginError, match="pip install toaster-sdk"):
        made.make_client({})
    assert made.doctor() == [("toaster library", False, made.obstacle())]
    assert made.build() == ""


def test_a_package_that_is_installed_and_looked_at_in_the_wrong_place():
    made = backend(lambda: find_library("numpy", "nobody.so"), package="numpy")
    assert made.obstacle().startswith("numpy ")
    assert "is installed, and has no PJRT library for 'toaster' where the backend looks" in made.obstacle()
    assert "numpy/" in made.obstacle() and ".so" in made.obstacle()
    assert ADVICE not in made.obstacle()


def test_a_library_that_is_not_where_it_was_said_to_be(tmp_path):
    made = backend(str(tmp_path / "gone.so"))
    assert "gone.so; install it with" in made.obstacle()


def test_the_library_is_looked_for_when_it_is_needed(here):
    found = []
    made = backend(lambda: found[-1] if found else None)
    assert made.obstacle() is not None
    found.append(here)
    assert made.obstacle() is None


@pytest.mark.skipif(machine.system() != "Linux", reason="reads the header of ELF files")
def test_what_is_no_library_for_this_processor(tmp_path, here):
    text = tmp_path / "text.so"
    text.write_text("no library")
    assert foreign(text) == "is not a shared library"
    assert foreign(here) is None
    other = elf(tmp_path / "other.so", 183 if machine.machine() == "x86_64" else 62)
    assert "is made for" in backend(other).obstacle()
    assert machine.machine() in backend(other).obstacle()


def test_versions_that_do_not_fit_are_refused_before_anything_is_loaded(here, monkeypatch):
    monkeypatch.setattr(adapter, "load_pjrt_plugin", lambda *args: pytest.fail("it was loaded"))
    asked = []

    def fits(package, jaxlib):
        asked.append((package, jaxlib))
        return f"toaster-sdk {package} needs jaxlib 0.9, and jaxlib {jaxlib} is installed"

    made = backend(here, package="pytest", fits=fits)
    with pytest.raises(PluginError, match=r"toaster-sdk \d.* needs jaxlib 0\.9"):
        made.make_client({})
    assert asked[0] == (pytest.__version__, adapter.version())
    lines = {label: (ok, detail) for label, ok, detail in made.doctor()}
    assert lines["toaster package"] == (True, f"pytest {pytest.__version__}")
    assert lines["toaster library"][0] is False


def test_hardware_that_is_missing(here):
    made = backend(here, hardware=lambda: "no toaster is plugged in", package="no-such-package")
    assert made.obstacle() == "no toaster is plugged in"
    assert made.doctor() == [
        ("toaster package", False, "no-such-package is not installed"),
        ("toaster library", True, str(here)),
        ("toaster driver", False, "no toaster is plugged in"),
    ]


def test_a_library_that_does_not_load_is_named(here):
    with pytest.raises(PluginError, match=r"'toaster' does not load: .*libtoaster\.so") as caught:
        backend(here).make_client({})
    assert ADVICE in str(caught.value)


def test_a_library_without_an_interface_is_told_so(here, monkeypatch):
    monkeypatch.setattr(adapter, "load_pjrt_plugin", lambda *args: False)
    with pytest.raises(PluginError, match=r"GetPjrtApi returned null \(.*libtoaster\.so\)"):
        backend(here).make_client({})


def test_what_the_plugin_is_told(here, monkeypatch):
    calls = []

    class Client:
        platform_version = "toaster 3\n"
        pjrt_c_api_major_version, pjrt_c_api_minor_version = 0, 81

    monkeypatch.setattr(adapter, "load_pjrt_plugin", lambda *args: calls.append(args))
    monkeypatch.setattr(adapter, "make_c_api_client", lambda *args: calls.append(args) or Client())
    monkeypatch.setattr(adapter, "make_topology", lambda *args, **options: (args, options))
    prepared = []
    made = backend(
        here, options=lambda: {"heat": 3, "slots": 2}, topology=True, prepare=lambda: prepared.append(1)
    )
    made.make_client({"slots": 4, "distributed_client": "other processes"})
    assert calls == [("toaster", here), ("toaster", {"heat": 3, "slots": 4}, "other processes")]
    assert ("toaster driver", True, "toaster 3, PJRT C API 0.81") in made.doctor()
    assert made.topology("t1:2x2", slots=1) == (("toaster", "t1:2x2"), {"slots": 1})
    assert prepared == [1, 1]


def test_builds_differ(here):
    made = backend(here)
    before = made.build()
    with open(here, "ab") as file:
        file.write(b"more")
    assert before != made.build()


def test_a_file_of_an_installed_package():
    assert find_library("rabbet.runtime.platforms", "c_api.py").name == "c_api.py"
    assert find_library("rabbet.runtime.platforms", "no_such_file.so") is None
    assert find_library("no_such_package", "x.so") is find_library("no_such.package", "x.so") is None
