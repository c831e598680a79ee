"""The `rabbet` command, on fresh managers; what it says of a whole environment is tested at the root."""

import sys
import types
from importlib import metadata

import pytest
from rabbet.errors import ConfigError
from rabbet.extend.commands import plugin_hooks, plugin_manager, print_table
from rabbet.extend.hooks import hookimpl
from rabbet_cli import command as cli
from rabbet_cli import doctor, plugins


class FakeDistribution(metadata.Distribution):
    """A distribution whose metadata are two strings."""

    def __init__(self, name, entry_points, requires="rabbet-core>=0.1"):
        self.texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {requires}\n",
            "entry_points.txt": entry_points,
        }

    def read_text(self, filename):
        return self.texts.get(filename)

    def locate_file(self, path):
        raise NotImplementedError


def offer(distribution, group, **names):
    """Entry points of one made-up distribution: ``offer("my-dist", "rabbet.api", grad="my_module:grad")``."""
    lines = "\n".join(f"{name} = {value}" for name, value in names.items())
    return list(FakeDistribution(distribution, f"[{group}]\n{lines}\n").entry_points)


def manager(*entry_points):
    """A plugin manager that knows these entry points alone."""
    return type(plugin_manager())(entry_points, core_version="0.1.0")


def hooks(plugins):
    """The hook plugins of a manager."""
    return type(plugin_hooks())(plugins)


# Tables -------------------------------------------------------------------------------------------


def test_a_plain_table_is_aligned_and_has_no_trailing_blanks(capsys):
    print_table(("name", "x"), [("a", "long value"), ("longer name", "")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["name         x", "a            long value", "longer name"]


def test_an_empty_table_is_a_word(capsys):
    print_table(("name",), [], empty="no plugins")
    assert capsys.readouterr().out == "no plugins\n"


def test_a_terminal_gets_a_drawn_table(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_table(("name", "x"), [("[b]f[/b]", "1")])
    printed = capsys.readouterr().out
    assert "[b]f[/b]" in printed
    assert "─" in printed


# plugins ------------------------------------------------------------------------------------------


def test_plugins_lists_without_importing(capsys, monkeypatch):
    found = manager(*offer("my-dist", "rabbet.api", f="rabbet_fake_never:f"))
    monkeypatch.setattr(plugins, "plugin_manager", lambda: found)
    assert cli.main(["plugins"]) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row == ["api", "f", "my-dist", "1.0", "found"]
    assert "rabbet_fake_never" not in sys.modules


def test_plugins_of_one_group(capsys, monkeypatch):
    found = manager(*offer("a", "rabbet.api", f="m:f"), *offer("b", "rabbet.dtypes", int4="m:spec"))
    monkeypatch.setattr(plugins, "plugin_manager", lambda: found)
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
    made = FakeDistribution("a", "[rabbet.api]\nf = m:f\n", "rabbet-core>=99")
    check = labels(doctor.plugins(manager(*made.entry_points)))["api.f"]
    assert check.ok is False
    assert "requires rabbet-core>=99" in check.detail


def test_doctor_asks_hook_plugins(monkeypatch):
    module = types.ModuleType("rabbet_fake_checks")
    module.doctor_checks = hookimpl(lambda: [("disk", False, "full")])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found = manager(*offer("d", "rabbet.hooks", checks="rabbet_fake_checks"))
    assert doctor.Check("checks: disk", False, "full") in list(doctor.checks(found, hooks(found)))


def test_checks_of_packages_and_their_place(monkeypatch):
    made = types.ModuleType("rabbet_fake_checks")
    made.disk = lambda manager: [("disk", True, "empty")]
    made.devices = lambda manager: [("devices", True, "a toaster")]
    made.nothing = 1
    monkeypatch.setitem(sys.modules, made.__name__, made)
    monkeypatch.setattr(doctor, "versions", lambda manager: ())
    names = {name: f"{made.__name__}:{name}" for name in ("devices", "disk", "nothing")}
    found = manager(*offer("a", "rabbet.checks", **names))
    told = list(doctor.checks(found, hooks(found)))
    assert told[-2:] == [("disk", True, "empty"), ("devices", True, "a toaster")]
    (broken,) = [check for check in told if check.label == "checks.nothing"]
    assert "cannot be called as check(manager)" in broken.detail


@pytest.mark.filterwarnings("ignore::rabbet.errors.PluginWarning")
def test_the_doctor_names_package_cause_and_the_line_to_change(monkeypatch):
    made = types.ModuleType("rabbet_fake_objects")
    made.thing = lambda x: x
    monkeypatch.setitem(sys.modules, made.__name__, made)
    thing = f"{made.__name__}:thing"
    found = manager(
        *offer("rabbet-invalid", "rabbet.passes", mine=thing),
        *offer("rabbet-fine", "rabbet.api", one=thing, two=thing),
    )
    text = "\n".join(doctor.line(check) for check in doctor.checks(found, hooks(found), verbose=False))
    assert "BROKEN  passes.mine: rabbet-invalid 1.0" in text and "let the entry point name an object" in text
    assert "ok      api: 2 names from rabbet-fine" in text


def test_lines_of_one_check_are_kept_together():
    line = doctor.line(doctor.Check("api.f", False, "title\nreason"))
    assert line == "BROKEN  api.f: title\n          reason"


def test_a_missing_requirement_of_core_is_broken(monkeypatch):
    from importlib import metadata

    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    found = labels(doctor.versions(manager()))
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
        raise ConfigError("RABBET_PREFER: cannot read 'x'")

    monkeypatch.setattr(plugins, "plugin_manager", broken)
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
    monkeypatch.setattr(cli, "plugin_manager", lambda: found)
    assert cli.main(["toast"]) == 3 and capsys.readouterr().out == "toast\n"
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    assert "make toast" in printed and "burnt" not in printed
    assert cli.main(["burnt"]) == 1
    said = capsys.readouterr().err
    assert "rabbet burnt comes from a 1.0 (rabbet_fake_burnt), which cannot be used" in said
    assert "it lacks HELP, add_arguments, run" in said and "rabbet doctor" in said


def test_a_command_of_a_package_that_is_not_installed(capsys, monkeypatch):
    monkeypatch.setattr(cli, "plugin_manager", manager)
    assert cli.main(["store", "list"]) == 2
    said = capsys.readouterr().err
    assert "rabbet store: this command is rabbet-store's" in said
    assert "to fix: python -m pip install rabbet-store" in said
