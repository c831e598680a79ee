"""``dir`` of a public module, and of an array, lists what users may use: all of it and nothing else."""

import ast
import importlib
import pathlib
import types

import numpy as np
import pytest
import rabbet as rb
from rabbet.composition import CONTEXTS
from rabbet.extend.passes import stage
from rabbet.plugins import public_names

ROOT = pathlib.Path(rb.lax.__file__).parents[1]
# The modules of core that are no user's business; plugin authors have rabbet.extend.
INTERNAL = {
    "__init__", "__main__", "calls", "cli", "composition",
    "lowering", "messages", "passes", "plugins", "scopes",
    "primitives",
    "program", "rules", "runtime", "trace", "version",
}  # fmt: skip
FACES = (
    "rabbet", "rabbet.lax", "rabbet.dtypes", "rabbet.errors",
    "rabbet.tree", "rabbet.experimental",
)  # fmt: skip


def bound_in(path):
    """The names without an underscore in front that a module's own text binds, without modules of others."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def public_modules():
    """What lies beside ``rabbet/__init__.py`` in core and is not internal."""
    found = {p.stem for p in ROOT.glob("*.py")} | {p.parent.name for p in ROOT.glob("*/__init__.py")}
    return found - INTERNAL


def test_dir_of_rabbet():
    wanted = bound_in(ROOT / "__init__.py") - {"composition"} | public_modules() | CONTEXTS
    assert set(dir(rb)) == wanted | set(public_names.names()) | {"__version__"}
    for name in ("experimental", "enable_x64", *public_names.names()):
        assert name in dir(rb)


def test_dir_of_lax():
    assert set(dir(rb.lax)) == bound_in(ROOT / "lax" / "__init__.py") | set(public_names.names(within="lax"))


@pytest.mark.parametrize("face", FACES)
def test_what_is_listed_is_there_and_rabbets_own(face):
    module = importlib.import_module(face)
    modules = {*public_modules(), "linalg", *public_names.names(), *public_names.names(within="experimental")}
    listed = dir(module)
    assert listed == sorted(set(listed))
    for name in listed:
        value = getattr(module, name)
        assert not name.startswith("_") or name == "__version__"
        if type(value) is types.ModuleType:
            assert value.__name__.startswith("rabbet."), f"{face}.{name} is {value}"
            assert name in modules


@pytest.mark.parametrize("face", FACES)
def test_all_names_what_dir_lists(face):
    module = importlib.import_module(face)
    if hasattr(module, "__all__"):
        assert set(dir(module)) == set(module.__all__)


@pytest.mark.needs("numpy")
def test_dir_of_an_array_and_of_a_traced_one():
    def private(names):
        return [name for name in names if name.startswith("_") and not name.endswith("__")]

    x = rb.device_put(np.ones((2, 3), np.float32))
    names = set(dir(x))
    assert {"shape", "dtype", "T", "at", "sum", "reshape", "block_until_ready", "devices", "__add__"} <= names
    assert not names & {"raw", "spec", "deleted"} and not private(names)
    seen = []
    stage(lambda y: [seen.append(dir(y)) or y], [rb.typeof(x)])
    (traced,) = seen
    assert {"shape", "dtype", "T", "at", "sum", "reshape", "__add__"} <= set(traced)
    assert not set(traced) & {"payload", "interpreter", "where"} and not private(traced)
    assert all(hasattr(x, name) for name in names)
