"""``rabbet new-plugin``: what it writes is complete, announces itself and passes its own tests."""

import argparse
import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module, metadata
from pathlib import Path

import pytest
import rabbet
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rabbet_cli import new_plugin

pytestmark = pytest.mark.exhaustive

GROUPS = {
    f"rabbet.{name}"
    for name in ("api", "backends", "dtypes", "rules", "passes", "hooks", "settings", "commands")
}
GROUPS |= {"rabbet.pallas_targets"}  # of the package rabbet-pallas


def command(*args):
    """The command, in this process; its exit status."""
    parser = argparse.ArgumentParser()
    new_plugin.add_arguments(parser)
    return new_plugin.run(parser.parse_args(list(args)))


def test_it_is_a_command():
    done = subprocess.run([sys.executable, "-m", "rabbet"], capture_output=True, text=True, check=True)
    assert new_plugin.HELP in " ".join(done.stdout.split())


@pytest.mark.parametrize("given", ["rabbet-my-thing", "my_thing", "My.Thing"])
def test_the_forms_of_a_name(given):
    forms = new_plugin.forms(given)
    assert forms["distribution"] == "rabbet-my-thing"
    assert forms["package"] == "rabbet_my_thing"
    assert forms["word"] == "my_thing"


@pytest.mark.parametrize("given", ["", "1st", "class", "a b", "rabbet-", "naïve", "../up"])
def test_a_name_that_cannot_be_one(given, capsys, tmp_path):
    assert command(given, "--into", str(tmp_path)) == 1
    assert "cannot be a plugin's name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", ["jit", "rabbet-float8", "core", "testing", "pjrt_cpu"])
def test_a_name_of_rabbets_own(given, capsys, tmp_path):
    assert command(given, "--into", str(tmp_path)) == 1
    assert "is a package of Rabbet's own; choose another name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_no_package_of_this_repository_can_be_written_again(tmp_path):
    root = Path(__file__).parents[4]
    files = [
        *root.glob("plugins/*/*/pyproject.toml"),
        *root.glob("pjrt_*/pyproject.toml"),
        root / "core/pyproject.toml",
    ]
    names = [tomllib.loads(file.read_text())["project"]["name"] for file in files if file.exists()]
    if len(names) < 2:
        pytest.skip("the tests stand outside of the repository")
    for name in names:
        with pytest.raises(ValueError, match="is a package of Rabbet's own"):
            new_plugin.write(name, "transformation", tmp_path)


def test_what_to_type_next_installs_what_its_tests_need(capsys, tmp_path):
    command("thing", "--into", str(tmp_path))
    assert f"pip install -e '{tmp_path / 'rabbet-thing'}[test]'" in capsys.readouterr().out


def test_an_existing_folder_is_left_alone(capsys, tmp_path):
    (tmp_path / "rabbet-thing").mkdir()
    assert command("thing", "--into", str(tmp_path)) == 1
    assert "there already: delete the folder, or choose another name" in capsys.readouterr().err


@pytest.mark.parametrize("kind", new_plugin.KINDS)
def test_what_is_written_is_complete(kind, tmp_path, capsys):
    assert command("thing", "--kind", kind, "--into", str(tmp_path)) == 0
    folder = tmp_path / "rabbet-thing"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "pyproject.toml", "README.md", "src/rabbet_thing/__init__.py", "tests/test_rabbet_thing.py",
    }  # fmt: skip
    for path in files:
        text = (folder / path).read_text()
        assert "$" not in text and "PACKAGE" not in text
        assert all(len(line) <= 130 for line in text.splitlines())
        if path.endswith(".py"):
            assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("kind", new_plugin.KINDS)
def test_its_metadata_announces_what_its_module_defines(kind, tmp_path, monkeypatch):
    folder = new_plugin.write("thing", kind, tmp_path)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    ((group, offered),) = project["entry-points"].items()
    assert group in GROUPS and project["dependencies"][0] == new_plugin.core_bounds()
    ((_, value),) = offered.items()
    module, _, attribute = value.partition(":")
    monkeypatch.syspath_prepend(folder / "src")
    try:
        made = import_module(module)
        assert not attribute or getattr(made, attribute) is not None
    finally:
        sys.modules.pop("rabbet_thing", None)


def closure(requirements):
    """The distributions that `pip install` of these brings, extras and all."""
    found, queue = set(), [Requirement(one) for one in requirements]
    for one in queue:
        name, extras = canonicalize_name(one.name), one.extras or {""}
        for extra in extras - {asked for known, asked in found if known == name}:
            found.add((name, extra))
            queue += [
                next_one
                for next_one in map(Requirement, metadata.requires(name) or ())
                if next_one.marker is None or next_one.marker.evaluate({"extra": extra})
            ]
    return {name for name, _ in found}


@pytest.mark.parametrize("kind", new_plugin.KINDS)
def test_its_extra_test_brings_what_its_tests_use(kind, tmp_path):
    """In an environment that has only what `pip install -e '.[test]'` installs, every name is there."""
    folder = new_plugin.write("thing", kind, tmp_path)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    try:
        installed = closure(asked)
    except metadata.PackageNotFoundError as missing:
        pytest.skip(f"{missing} is not installed")
    text = "\n".join(path.read_text() for path in folder.rglob("*.py"))
    used = set(re.findall(r"\brb\.([a-z_]+)", text)) - set(vars(rabbet)) - {"thing", "testing"}
    offered = {one.name: one.dist.name for one in metadata.entry_points(group="rabbet.api")}
    assert {offered[name] for name in used if name in offered} <= installed
    assert "rabbet.testing" not in text or "rabbet-testing" in installed
    assert "lax." not in text.replace("rabbet.lax", "") or "rabbet-pjrt-cpu" in installed or kind == "backend"
    assert "rabbet" not in installed  # all of Rabbet, for the tests of one small package


NEEDS = {
    "transformation": ["jit", "vmap", "grad"], "primitive": ["jit", "vmap", "grad"], "pass": ["jit"],
    "rules": ["vmap"], "dtype": [],
}  # fmt: skip


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.needs("cpu", *NEEDS.get(kind, ()))) for kind in new_plugin.KINDS],
)
def test_its_own_tests_pass(kind, tmp_path):
    pytest.importorskip("rabbet.testing")
    folder = new_plugin.write("thing", kind, tmp_path)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    info = folder / "src" / "rabbet_thing-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rabbet-thing\nVersion: 0.1.0\n")
    lines = [
        line
        for group, names in project["entry-points"].items()
        for line in [f"[{group}]", *(f"{name} = {value}" for name, value in names.items())]
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        capture_output=True, text=True,
        env=environment_with(folder / "src"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def environment_with(folder):
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def test_a_repository_has_workflows_documents_and_a_badge(tmp_path):
    folder = new_plugin.write("enclosed", "transformation", tmp_path, repository=True)
    wanted = (".github/workflows/test.yml", ".github/workflows/release.yml", ".gitignore", "docs/index.md",
              "mkdocs.yml", "RELEASING.md", "pyproject.toml")  # fmt: skip
    assert [name for name in wanted if not (folder / name).exists()] == []
    test = (folder / ".github/workflows/test.yml").read_text()
    assert "python-version: ${{ matrix.python }}" in test and "$$" not in test
    assert "# rabbet-enclosed" in (folder / "docs/index.md").read_text()
    assert not (new_plugin.write("plain", "pass", tmp_path) / ".github").exists()
