"""The `rabbet` command, on fresh managers; what it says of a whole environment is tested at the root."""

import sys
import types

import pytest
from rabbet import cli
from rabbet.cli import doctor, output, plugins, trial
from rabbet.plugins import discovery
from rabbet.plugins.hooks import Hooks
from rabbet.plugins.hookspecs import hookimpl
from rabbet.plugins.manager import PluginManager
from rabbet.runtime.c_api import CApiBackend

from .fakes import FakeDistribution, offer


def manager(*entry_points):
    return PluginManager(entry_points, core_version="0.1.0")


# Tables -------------------------------------------------------------------------------------------


def test_a_plain_table_is_aligned_and_has_no_trailing_blanks():
    lines = output.plain(("name", "x"), [("a", "long value"), ("longer name", "")])
    assert lines == ["name         x", "a            long value", "longer name"]


def test_an_empty_table_is_a_word(capsys):
    output.table(("name",), [], empty="no plugins")
    assert capsys.readouterr().out == "no plugins\n"


def test_a_terminal_gets_a_drawn_table(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    output.table(("name", "x"), [("[b]f[/b]", "1")])
    printed = capsys.readouterr().out
    assert "[b]f[/b]" in printed
    assert "─" in printed


# plugins ------------------------------------------------------------------------------------------


def test_plugins_lists_without_importing(capsys, monkeypatch):
    found = manager(*offer("my-dist", "rabbet.api", f="rabbet_fake_never:f"))
    monkeypatch.setattr(plugins, "default_manager", lambda: found)
    assert cli.main(["plugins"]) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row == ["api", "f", "my-dist", "1.0", "found"]
    assert "rabbet_fake_never" not in sys.modules


def test_plugins_of_one_group(capsys, monkeypatch):
    found = manager(*offer("a", "rabbet.api", f="m:f"), *offer("b", "rabbet.dtypes", int4="m:spec"))
    monkeypatch.setattr(plugins, "default_manager", lambda: found)
    cli.main(["plugins", "dtypes"])
    printed = capsys.readouterr().out
    assert "int4" in printed and "api" not in printed


# doctor -------------------------------------------------------------------------------------------


def labels(checks):
    return {check.label: check for check in checks}


def test_doctor_shows_the_error_as_the_plugin_raised_it_and_where(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "rabbet_fake_native.py").write_text("import ctypes\nctypes.CDLL('libnope.so')\n")
    entry_points = offer("my-dist", "rabbet.backends", toaster="rabbet_fake_native:BACKEND")
    check = labels(doctor.plugins(manager(*entry_points)))["backends.toaster"]
    assert check.ok is False
    assert "my-dist 1.0 (rabbet_fake_native:BACKEND)" in check.detail
    assert "OSError: libnope.so: cannot open shared object file" in check.detail
    assert "rabbet_fake_native.py:2, in <module>: ctypes.CDLL('libnope.so')" in check.detail


def test_doctor_shows_the_version_that_a_plugin_asks_for():
    made = FakeDistribution("a", "[rabbet.api]\nf = m:f\n", ["rabbet-core>=99"])
    check = labels(doctor.plugins(manager(*made.entry_points)))["api.f"]
    assert check.ok is False
    assert "requires rabbet-core>=99" in check.detail


def test_doctor_names_variables_that_set_nothing(monkeypatch):
    doctor.unknown_variable("RABBET_QQQ")  # the manager of the process reads the environment as it was
    for name in ("RABBET_CACHES", "RABBET_QQQ", "RABBET_PREFER", "RABBET_CACHE"):
        monkeypatch.setenv(name, "0")
    found = labels(doctor.settings(manager()))
    assert found["RABBET_CACHES"].detail == "0 (no setting has this name; did you mean RABBET_CACHE?)"
    assert found["RABBET_QQQ"].detail == "0 (no setting has this name)"
    assert found["RABBET_PREFER"].detail == found["RABBET_CACHE"].detail == "0"


def test_profile_shows_the_scripts_own_traceback(tmp_path, capsys):
    script = tmp_path / "broken.py"
    assert cli.main(["passes", "--profile", str(script)]) == 1
    assert f"there is no script '{script}'" in capsys.readouterr().err
    script.write_text("def f():\n    raise ValueError('mine')\nf()\n")
    assert cli.main(["passes", "--profile", str(script)]) == 1
    shown = capsys.readouterr()
    assert "nothing was compiled" in shown.out and "ValueError: mine" in shown.err
    assert shown.err.count("  File ") == shown.err.count("broken.py") == 2


def test_doctor_asks_hook_plugins(monkeypatch):
    module = types.ModuleType("rabbet_fake_checks")
    module.doctor_checks = hookimpl(lambda: [("disk", False, "full")])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for part in ("versions", "compilation_cache", "backends"):
        monkeypatch.setattr(doctor, part, lambda: ())
    found = manager(*offer("d", "rabbet.hooks", checks="rabbet_fake_checks"))
    assert doctor.Check("checks: disk", False, "full") in list(doctor.checks(found, Hooks(found)))


def backend_check(monkeypatch, outcome):
    monkeypatch.setattr(doctor.devices, "by_platform", lambda: [("toaster", outcome)])
    monkeypatch.setattr(doctor, "_own_words", lambda name: [doctor.Check("library", False, "missing")])
    return labels(doctor.backends())


def test_hardware_that_is_not_here_is_broken_only_where_it_is_asked_for(monkeypatch):
    from rabbet import config

    found = backend_check(monkeypatch, "no toaster on this machine")
    assert {check.ok for check in found.values()} == {None}
    with config.override(platforms="toaster"):
        found = backend_check(monkeypatch, "no toaster on this machine")
        assert {check.ok for check in found.values()} == {False}


def test_a_backend_that_does_not_start_is_broken_and_its_causes_are_shown(monkeypatch):
    error = RuntimeError("does not start")
    error.__cause__ = OSError("libtoast.so: cannot open shared object file")
    check = backend_check(monkeypatch, error)["devices of toaster"]
    assert check.ok is False
    assert "does not start" in check.detail
    assert "caused by OSError: libtoast.so" in check.detail


def test_devices_are_described_where_they_say_more_than_their_name(monkeypatch):
    class Fake:
        platform, device_kind = "toaster", "T1000"

        def memory_stats(self):
            return {"bytes_limit": 80 << 30}

        def __str__(self):
            return "toaster:0"

    assert backend_check(monkeypatch, [Fake()])["devices of toaster"].detail == "toaster:0 (T1000, 80 GiB)"
    Fake.device_kind, Fake.memory_stats = "toaster", lambda self: None
    assert backend_check(monkeypatch, [Fake()])["devices of toaster"].detail == "toaster:0"


def test_a_backend_that_cannot_be_loaded_is_reported_once(monkeypatch):
    monkeypatch.setattr(doctor.devices, "by_platform", lambda: [("no-such-platform", OSError("broken"))])
    assert [check.label for check in doctor.backends()] == ["devices of no-such-platform"]


@pytest.mark.parametrize(
    "program,said", [("os.abort()", "to start it ends the process with SIGABRT"), ("1 / 0", None)]
)
def test_a_library_that_ends_the_process_ends_another_one(tmp_path, monkeypatch, program, said):
    library = tmp_path / "lib.so"
    library.write_bytes(b"\x7fELF")
    made = CApiBackend("toaster", library)
    monkeypatch.setattr(made.plugin, "problem", lambda: None)
    monkeypatch.setattr(trial, "PROGRAM", f"import os; {program}")
    found = trial.trouble(made, "start")
    assert found is said is None or found.startswith(said)


def test_lines_of_one_check_are_kept_together():
    line = doctor.line(doctor.Check("api.f", False, "title\nreason"))
    assert line == "BROKEN  api.f: title\n          reason"


def test_a_missing_requirement_of_core_is_broken(monkeypatch):
    from importlib import metadata

    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    found = labels(doctor.versions())
    assert found["jaxlib"].ok is False
    assert found["rabbet-core"].ok is None


# The command itself -------------------------------------------------------------------------------


def test_without_a_command_it_prints_its_help(capsys):
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert name in printed


def test_errors_of_ours_are_one_message_and_status_one(capsys, monkeypatch):
    def broken():
        raise discovery.ConfigError("RABBET_PREFER: cannot read 'x'")

    monkeypatch.setattr(plugins, "default_manager", broken)
    assert cli.main(["plugins"]) == 1
    assert "rabbet plugins: ConfigError: RABBET_PREFER" in capsys.readouterr().err


def test_commands_of_packages(capsys, monkeypatch):
    made = types.ModuleType("rabbet_fake_toast")
    made.HELP, made.add_arguments = "make toast", lambda parser: None
    made.run = lambda args: print("toast") or 3
    monkeypatch.setitem(sys.modules, made.__name__, made)
    broken = types.ModuleType("rabbet_fake_burnt")
    monkeypatch.setitem(sys.modules, broken.__name__, broken)
    found = manager(*offer("a", "rabbet.commands", toast=made.__name__, burnt=broken.__name__))
    monkeypatch.setattr(cli, "default_manager", lambda: found)
    assert cli.main(["toast"]) == 3 and capsys.readouterr().out == "toast\n"
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    assert "make toast" in printed and "burnt" not in printed


def test_a_command_of_a_package_that_is_not_installed(capsys, monkeypatch):
    monkeypatch.setattr(cli, "default_manager", manager)
    assert cli.main(["new-plugin", "thing"]) == 2
    assert "rabbet new-plugin: to fix: python -m pip install rabbet-cli" in capsys.readouterr().err
