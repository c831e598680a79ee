"""Every distribution builds, and its wheel holds its own package, its metadata and the licence."""

import email
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = sorted(
    str(file.parent.relative_to(ROOT))
    for pattern in ("core", "plugins/*/*", "pjrt_*", "examples/third_party/*")
    for file in ROOT.glob(f"{pattern}/pyproject.toml")
    # What compiles C++ needs jaxlib's headers when it is built: the strangers' environment builds it.
    if "wheel.hooks.custom" not in file.read_text()
)
def about(folder):
    """The table ``[tool.rabbet]`` of a package."""
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["tool"].get("rabbet", {})


def inside(folder):
    """What the wheel of a folder may install: what its pyproject.toml lists, or a package of its own name."""
    settings = tomllib.loads((ROOT / folder / "pyproject.toml").read_text()).get("tool", {})
    wheel = settings.get("hatch", {}).get("build", {}).get("targets", {}).get("wheel", {})
    only = wheel.get("only-include", wheel.get("packages", []))
    listed = [path.removeprefix("src/") for path in only]
    forced = wheel.get("force-include", {}).values()
    own = project(folder)["name"].replace("-", "_")
    return (*(listed or [own]), *forced)


def project(folder):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def metadata(archive):
    name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(archive.read(name))


@pytest.mark.parametrize("folder", ["core", "plugins/transformations/jit", "pjrt_cpu"])
def test_a_wheel_can_be_built_again_to_the_last_byte(folder, wheel, tmp_path):
    """From a copy that lies elsewhere, with other times and modes, on another day."""
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(ROOT / folder, copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    for i, path in enumerate(sorted(copy.rglob("*"))):
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + 7 * i))
        path.chmod(path.stat().st_mode & ~0o022 | (0o020 if i % 2 else 0))
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (again,) = tmp_path.glob("*.whl")
    first = pathlib.Path(wheel(folder).filename)
    assert (first.name, first.read_bytes()) == (again.name, again.read_bytes())


def test_the_distributions_are_those_of_the_design():
    groups = {folder.split("/")[1] for folder in FOLDERS if folder.startswith("plugins/")}
    assert groups == set("transformations language functions dtypes kernels scale interop tooling".split())
    assert {"pjrt_cpu", "pjrt_cuda", "pjrt_tpu"} <= set(FOLDERS)
    names = [project(folder)["name"] for folder in FOLDERS]
    assert len(set(names)) == len(names)
    assert all(name.startswith("rabbet-") for name in names)
    assert all("brings" in about(folder) for folder in FOLDERS if not folder.startswith("examples"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_wheel_holds_its_package_and_nothing_else(folder, wheel):
    code = [name for name in wheel(folder).namelist() if ".dist-info/" not in name]
    assert code, "the wheel is empty"
    assert [name for name in code if not name.startswith(inside(folder))] == []
    assert "rabbet/__init__.py" not in code or folder == "core"
    assert not any("/tests/" in name or name.endswith(".pyc") for name in code if not name.endswith(".tmpl"))


def test_the_command_line_brings_the_templates_of_new_plugins(wheel):
    templates = {
        str(path.relative_to(ROOT / "plugins/tooling/cli/src"))
        for path in (ROOT / "plugins/tooling/cli/src").rglob("*.tmpl")
    }
    assert templates
    assert templates <= set(wheel("plugins/tooling/cli").namelist())


def test_no_file_is_in_two_wheels(wheel):
    owner = {}
    for folder in FOLDERS:
        for name in wheel(folder).namelist():
            assert owner.setdefault(name, folder) == folder, f"{name}: in {owner[name]} and {folder}"


@pytest.mark.parametrize("folder", [".", *FOLDERS])
def test_metadata_is_complete(folder, wheel):
    archive = wheel(folder)
    meta = metadata(archive)
    assert meta["License-Expression"] == "Apache-2.0"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in archive.namelist())
    assert meta["Requires-Python"] == ">=3.11"
    assert meta["Summary"]
    assert "# " in meta.get_payload()


@pytest.mark.parametrize("folder", FOLDERS)
def test_licence_is_the_one_of_the_root(folder):
    assert (ROOT / folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != "core"])
def test_a_plugin_says_for_which_core_it_was_built(folder):
    requirements = {r.name: r for r in map(Requirement, project(folder)["dependencies"])}
    bounds = {s.operator for s in requirements["rabbet-core"].specifier}
    assert bounds == {">=", "<"}
    assert "jax" not in requirements


def test_all_distributions_have_one_version():
    first_party = [".", *(folder for folder in FOLDERS if not folder.startswith("examples"))]
    assert {project(folder)["version"] for folder in first_party} == {project("core")["version"]}
    module = (ROOT / "core/src/rabbet/version.py").read_text()
    assert f'VERSION = "{project("core")["version"]}"' in module


def test_the_root_project_ships_no_code_and_requires_the_standard_plugins(wheel):
    archive = wheel(".")
    assert all(".dist-info/" in name for name in archive.namelist())
    required = {
        Requirement(line).name
        for line in metadata(archive).get_all("Requires-Dist")
        if "extra ==" not in line
    }
    released = [folder for folder in FOLDERS if not folder.startswith("examples")]
    assert required == {project(folder)["name"] for folder in released if "extra" not in about(folder)}
    assert {"rabbet-core", "rabbet-jit", "rabbet-numpy", "rabbet-pjrt-cpu"} <= required
    assert {"cuda12", "cuda13", "tpu", "cli", "testing"} <= set(metadata(archive).get_all("Provides-Extra"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_entry_points_name_objects_that_are_in_the_wheel(folder, wheel):
    code = set(wheel(folder).namelist())
    for points in project(folder).get("entry-points", {}).values():
        for value in points.values():
            path = value.partition(":")[0].replace(".", "/")
            assert {f"{path}.py", f"{path}/__init__.py"} & code, f"{value} is not in the wheel"
