"""What ``rabbet doctor`` looks at: settings, names, groups, backends; and libraries that end the process."""

import types
from importlib import metadata

import pytest
from rabbet import config
from rabbet.extend.backend import CApiBackend
from rabbet_cli import checks, doctor, isolated_process


class Distribution(metadata.Distribution):
    """One whose metadata are two strings."""

    def __init__(self, name, entry_points):
        self.texts = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\n", "entry_points.txt": entry_points}

    def read_text(self, filename):
        return self.texts.get(filename)

    def locate_file(self, path):
        raise NotImplementedError


def by_label(answers):
    return {label: (ok, detail) for label, ok, detail in answers}


def test_variables_that_set_nothing_are_named(monkeypatch):
    checks.unknown_variable("RABBET_QQQ")  # the manager of the process reads the environment as it was
    for name in ("RABBET_CACHES", "RABBET_QQQ", "RABBET_PREFER", "RABBET_CACHE"):
        monkeypatch.setenv(name, "0")
    manager = types.SimpleNamespace(records=list, selection=types.SimpleNamespace(names={"typo"}))
    found = by_label(checks.settings(manager))
    assert found["RABBET_CACHES"][1] == "0 (no setting has this name; did you mean RABBET_CACHE?)"
    assert found["RABBET_QQQ"][1] == "0 (no setting has this name)"
    assert found["RABBET_PREFER"][1] == found["RABBET_CACHE"][1] == "0"
    assert found["settings"] == (False, "a RABBET_ setting names 'typo'; no installed plugin is called so")


def test_settings_are_told_also_where_they_switch_all_packages_off():
    nothing = types.SimpleNamespace(names=lambda group: [])
    assert doctor.of_packages(nothing) == {"settings": checks.settings}


def test_names_that_core_has_itself():
    offered = [types.SimpleNamespace(name=name, title="rabbet-shadow 1.0") for name in ("Array", "array_of")]
    manager = types.SimpleNamespace(records=lambda group: offered)
    ((label, ok, detail),) = checks.names(manager)
    assert (label, ok) == ("api.Array", False)
    assert "rabbet-shadow 1.0 offers rb.Array, which core has itself: it is never used" in detail


@pytest.mark.parametrize(
    "group, said",
    [
        ("rabbet.transforms", "such as a transformation, is an entry point in rabbet.api"),
        ("rabbet.pases", "did you mean rabbet.passes?"),
        ("rabbet_dtype", "did you mean rabbet.dtypes?"),
    ],
)
def test_a_group_that_nobody_reads(monkeypatch, group, said):
    made = Distribution("rabbet-typo", f"[{group}]\nmine = m:f\n")
    monkeypatch.setattr(metadata, "distributions", lambda: [made])
    ((_, ok, detail),) = checks.groups(None)
    assert ok is False and "rabbet-typo" in detail and said in detail


def test_a_group_that_a_package_reads_itself(monkeypatch):
    cook = Distribution("rabbet-cook", "[rabbet.recipes]\nsoup = m:soup\n")
    rows = Distribution("rabbet-rows", "[rabbet.rows]\nmine = m:ROWS\n")  # of a package of Rabbet's
    monkeypatch.setattr(metadata, "distributions", lambda: [cook, rows])
    assert [label for label, _, _ in checks.groups(None)] == ["rabbet.recipes"]
    known = {**checks.entry_point_groups(), "rabbet.recipes": ""}
    monkeypatch.setattr(checks, "entry_point_groups", lambda: known)
    assert list(checks.groups(None)) == []


def backend_check(monkeypatch, outcome):
    monkeypatch.setattr(checks.devices, "by_platform", lambda: [("toaster", outcome)])
    monkeypatch.setattr(checks, "_own_words", lambda name: [("library", False, "missing")])
    return by_label(checks.backends(None))


def test_hardware_that_is_not_here_is_broken_only_where_it_is_asked_for(monkeypatch):
    with config.override(platforms=None):  # whatever the environment has
        found = backend_check(monkeypatch, "no toaster on this machine")
        assert {ok for ok, _ in found.values()} == {None}
    with config.override(platforms="toaster"):
        found = backend_check(monkeypatch, "no toaster on this machine")
        assert {ok for ok, _ in found.values()} == {False}


def test_a_backend_that_does_not_start_is_broken_and_its_causes_are_shown(monkeypatch):
    error = RuntimeError("does not start")
    error.__cause__ = OSError("libtoast.so: cannot open shared object file")
    ok, detail = backend_check(monkeypatch, error)["devices of toaster"]
    assert ok is False and "does not start" in detail
    assert "caused by OSError: libtoast.so" in detail


def test_devices_are_described_where_they_say_more_than_their_name(monkeypatch):
    class Fake:
        platform, device_kind = "toaster", "T1000"

        def memory_stats(self):
            return {"bytes_limit": 80 << 30}

        def __str__(self):
            return "toaster:0"

    assert backend_check(monkeypatch, [Fake()])["devices of toaster"][1] == "toaster:0 (T1000, 80 GiB)"
    Fake.device_kind, Fake.memory_stats = "toaster", lambda self: None
    assert backend_check(monkeypatch, [Fake()])["devices of toaster"][1] == "toaster:0"


def test_a_backend_that_cannot_be_loaded_is_reported_once(monkeypatch):
    monkeypatch.setattr(checks.devices, "by_platform", lambda: [("no-such-platform", OSError("broken"))])
    assert [label for label, _, _ in checks.backends(None)] == ["devices of no-such-platform"]


@pytest.mark.parametrize(
    "program,said", [("os.abort()", "to start it ends the process with SIGABRT"), ("1 / 0", None)]
)
def test_a_library_that_ends_the_process_ends_another_one(tmp_path, monkeypatch, program, said):
    library = tmp_path / "lib.so"
    library.write_bytes(b"\x7fELF")
    made = CApiBackend("toaster", library)
    monkeypatch.setattr(made.plugin, "problem", lambda: None)
    monkeypatch.setattr(isolated_process, "PROGRAM", f"import os; {program}")
    found = isolated_process.trouble(made, "start")
    assert found is said is None or found.startswith(said)
