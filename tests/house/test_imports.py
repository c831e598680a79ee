"""Who imports whom, across packages: no jax anywhere, and first-party plugins through the strangers' door."""

import ast
import itertools
import pathlib
import re
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = sorted(
    path
    for pattern in ("core/src", "plugins/*/*/src", "pjrt_*/src", "examples/third_party/*/src")
    for folder in ROOT.glob(pattern)
    for path in folder.rglob("*.py")
)
PLUGINS = sorted(
    folder
    for pattern in ("plugins/*/*", "pjrt_*", "examples/third_party/*")
    for folder in ROOT.glob(pattern)
    if (folder / "pyproject.toml").exists()
)
# The public modules of core: all that a plugin may import from it.
DOORS = {
    "rabbet", "rabbet.extend", "rabbet.extend.transform", "rabbet.extend.primitive", "rabbet.extend.dtype",
    "rabbet.extend.backend", "rabbet.extend.passes", "rabbet.extend.hooks", "rabbet.extend.functions",
    "rabbet.extend.bodies", "rabbet.extend.wrapping", "rabbet.extend.native", "rabbet.extend.cells",
    "rabbet.extend.sharding", "rabbet.extend.processes", "rabbet.extend.commands", "rabbet.extend.rules",
    "rabbet.extend.shapes", "rabbet.extend.cost", "rabbet.extend.settings",
    "rabbet.lax", "rabbet.tree",
    "rabbet.errors", "rabbet.dlpack", "rabbet.dtypes", "rabbet.typing",
}  # fmt: skip
MODULE_OF = {
    "rabbet-numpy": "rabbet.numpy", "rabbet-nn": "rabbet.nn", "rabbet-random": "rabbet.random",
    "rabbet-image": "rabbet.image", "rabbet-ops": "rabbet.ops", "rabbet-ref": "rabbet.ref",
    "rabbet-testing": "rabbet.testing", "rabbet-linalg": "rabbet.lax.linalg", "rabbet-scipy": "rabbet.scipy",
    "rabbet-jet": "rabbet.experimental.jet", "rabbet-checkify": "rabbet.experimental.checkify",
    "rabbet-float8": "rabbet.experimental.float8", "rabbet-int4": "rabbet.experimental.int4",
    "rabbet-profiler": "rabbet.profiler", "rabbet-ffi": "rabbet.ffi", "rabbet-export": "rabbet.export",
    "rabbet-test-util": "rabbet.test_util",
    "rabbet-ode": "rabbet.experimental.ode", "rabbet-sparse": "rabbet.experimental.sparse",
    "rabbet-callbacks": "rabbet.debug", "rabbet-jax-compat": "rabbet_jax",
    "rabbet-jax-names": "rabbet.flatten_util", "rabbet-parallel": "rabbet.sharding",
    "rabbet-distributed": "rabbet.distributed", "rabbet-store": "rabbet.store",
    "rabbet-plan": "rabbet.planning",
    "rabbet-onnx": "rabbet.onnx", "rabbet-torch": "rabbet.torch", "rabbet-safetensors": "rabbet.safetensors",
}  # fmt: skip


def imported(path):
    """(line, dotted name) of every import in a file; of `from m import x` both m and m.x, for x may be a
    module."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_inside(name, modules):
    """Whether a dotted name is one of the modules or lies in one."""
    return any(name == module or name.startswith(module + ".") for module in modules)


def modules_of(distribution):
    """The module that a first-party distribution brings."""
    return MODULE_OF.get(distribution, distribution.replace("-", "_"))


def modules_within_rabbet(distribution):
    """The modules and packages within ``rabbet.experimental`` that a first-party plugin brings."""
    for plugin in PLUGINS:
        if plugin.joinpath("pyproject.toml").read_text().find(f'name = "{distribution}"') >= 0:
            for path in (plugin / "src/rabbet/experimental").glob("*/__init__.py"):
                yield f"rabbet.experimental.{path.parent.name}"
            for path in (plugin / "src/rabbet/experimental").glob("[a-z]*.py"):
                yield f"rabbet.experimental.{path.stem}"


def test_the_product_never_imports_jax():
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in PRODUCT
        for line, name in imported(path)
        if is_inside(name, {"jax", "jax_plugins"})
    ]
    assert found == []


def test_only_the_runtime_and_the_tree_registry_touch_jaxlib():
    allowed = (
        ROOT / "core/src/rabbet/runtime",
        ROOT / "core/src/rabbet/tree",
    )
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in PRODUCT
        for line, name in imported(path)
        if is_inside(name, {"jaxlib"}) and not any(path == a or a in path.parents for a in allowed)
    ]
    assert found == []


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda folder: folder.name)
def test_a_plugin_imports_rabbet_extend_and_what_it_declares(plugin):
    project = tomllib.loads((plugin / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *itertools.chain(*project.get("optional-dependencies", {}).values())]
    declared = [re.match(r"[A-Za-z0-9._-]+", line).group() for line in lines]
    own = modules_of(project["name"])
    allowed = {own, *(modules_of(name) for name in declared if name != "rabbet-core")}
    allowed |= {f"rabbet.{path.stem}" for path in (plugin / "src" / "rabbet").glob("*.py")}  # its own, too
    allowed |= {name for line in declared for name in modules_within_rabbet(line)}
    exported = exports_of(ROOT / "core/src/rabbet/__init__.py")
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in (plugin / "src").rglob("*.py")
        for line, name in imported(path)
        if is_inside(
            name, {"rabbet"} | {modules_of(d) for d in ("rabbet-jit", "rabbet-vmap", "rabbet-autodiff")}
        )
        and not is_inside(name, allowed)
        and not at_a_door(name, exported)
    ]
    assert found == []


def at_a_door(name, exported):
    """Whether a name is a public module of core or something that one of them exports."""
    module, _, attribute = name.rpartition(".")
    return name in DOORS or module in DOORS - {"rabbet"} or (module == "rabbet" and attribute in exported)


def exports_of(init):
    """What `from rabbet import ...` may bring: the names that core's __init__ binds or lists."""
    module = ast.parse(init.read_text())
    names = {"lax", "extend", "tree", "config", "errors"}
    for node in ast.walk(module):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
    return names


def test_a_relative_import_never_leaves_its_package():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in PRODUCT
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level > 1
    ]
    assert found == []


# What these look at is made in core and reported by the plugin.
LOOK_INSIDE = {
    "plugins/tooling/native/tests/test_captured_arrays_and_loops.py": (
        "rabbet.runtime.arrays.callback_errors", "rabbet.runtime.execution.interruptible"
    ),
    "plugins/tooling/native/tests/test_lent_memory.py": (
        "rabbet.runtime.arrays.transfer_guards", "rabbet.runtime.jaxlib.adapter"
    ),
    "plugins/tooling/native/tests/test_unread_numpy_arrays.py": ("rabbet.runtime.jaxlib.adapter",),
    "plugins/transformations/jit/tests/test_ahead_of_time.py": ("rabbet.runtime.arrays.memory_report",),
    "plugins/transformations/jit/tests/test_explain.py": ("rabbet.runtime.platforms.hook_calls",),
    "plugins/transformations/jit/tests/test_precompile.py": ("rabbet.runtime.platforms.hook_calls",),
}
CORE = ROOT / "core" / "src"
INNER = {
    ".".join(path.relative_to(CORE).with_suffix("").parts).removesuffix(".__init__")
    for path in CORE.rglob("*.py")
} - DOORS - {"rabbet.config", "rabbet.experimental", "rabbet.typing"}  # fmt: skip


def may_look_inside(path, name):
    """Whether a test may import this module of core's."""
    return any(is_inside(m, {name}) for m in LOOK_INSIDE.get(str(path.relative_to(ROOT)), ()))


def test_tests_of_plugins_go_through_the_doors():
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for pattern in ("plugins/*/*/tests", "pjrt_*/tests")
        for folder in ROOT.glob(pattern)
        for path in folder.rglob("*.py")
        for line, name in imported(path)
        if name in INNER and not may_look_inside(path, name)
    ]
    assert found == []
