"""Walls that import-linter does not see: no circles within core, packages' attributes counted as imports, and
no plugin that reaches for another one that it does not declare.
"""

import ast
import pathlib
import re
import tomllib

import pytest
from rabbet.plugins import catalogue

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = ROOT / "core" / "src"
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS = CONTRACTS[0]["layers"]
ROW = {name: -row for row, names in enumerate(LAYERS) for name in re.findall(r"\w+", names)}
PLUGINS = sorted(
    folder
    for pattern in ("plugins/*/*", "pjrt_*")
    for folder in ROOT.glob(pattern)
    if (folder / "pyproject.toml").exists()
)


def module_name(path):
    """``rabbet.lax.shapes`` for a file of core."""
    parts = path.relative_to(CORE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in CORE.rglob("*.py")}


def nearest(name, modules=MODULES):
    """The module (of core) that a dotted name is, or lies in; None outside."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def dotted(node):
    """``a.b.c`` of an attribute of attributes of a name, else None."""
    if isinstance(node, ast.Name):
        return node.id
    inner = dotted(node.value) if isinstance(node, ast.Attribute) else None
    return None if inner is None else f"{inner}.{node.attr}"


class WithoutTypes(ast.NodeTransformer):
    """Takes out what type checkers alone read: it is never imported."""

    def visit_If(self, node):
        self.generic_visit(node)
        return None if getattr(node.test, "id", "") == "TYPE_CHECKING" else node


def imports(path, modules=MODULES):
    """(line, module of core) of every import at any depth, and of every ``package.module`` that is read."""
    tree = WithoutTypes().visit(ast.parse(path.read_text(), str(path)))
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                known[alias.asname or alias.name] = full
                yield node.lineno, nearest(full, modules)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                known.setdefault(alias.asname or alias.name.partition(".")[0], alias.asname and alias.name)
                yield node.lineno, nearest(alias.name, modules)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = (dotted(node) or "").partition(".")
            if first in known:
                full = f"{known[first] or first}.{rest}"
                if full in modules:
                    yield node.lineno, full


GRAPH = {
    name: {found: line for line, found in imports(path) if found is not None and found != name}
    for name, path in MODULES.items()
}


def circles(graph):
    """The sets of modules that reach each other (Tarjan's algorithm)."""
    number, low, stack, found = {}, {}, [], []

    def visit(v):
        number[v] = low[v] = len(number)
        stack.append(v)
        for w in graph[v]:
            if w not in number:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], number[w])
        if low[v] == number[v]:
            component = stack[stack.index(v) :]
            del stack[stack.index(v) :]
            if len(component) > 1:
                found.append(sorted(component))

    for v in graph:
        if v not in number:
            visit(v)
    return found


def test_circles_are_found():
    assert circles({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a"]}) == [["b", "c"]]


def test_no_circle_within_core_not_even_a_deferred_one():
    # A subpackage stands for its __init__ alone: what it gathers may use its siblings.
    assert circles(GRAPH) == []


def test_no_circle_within_a_plugin():
    """Imports within functions count, too."""
    found = []
    for folder in PLUGINS:
        sources = folder / "src"
        modules = {}
        for path in sources.rglob("*.py"):
            parts = path.relative_to(sources).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        graph = {
            name: {inner for _, inner in imports(path, modules) if inner is not None and inner != name}
            for name, path in modules.items()
        }
        found += circles(graph)
    assert found == []


def test_every_module_has_its_row():
    top = {name.split(".")[1] for name in MODULES if "." in name}
    assert top == set(ROW)


def test_imports_point_downwards_attributes_of_packages_included():
    upwards = [
        f"{name}:{line} reads {found}"
        for name, found_in in GRAPH.items()
        for found, line in found_in.items()
        if "." in name and "." in found and ROW[name.split(".")[1]] < ROW[found.split(".")[1]]
    ]
    assert upwards == []


def test_core_annotates_with_its_own_types():
    """A type of a plugin in core would be a plugin that core knows, though only type checkers read it."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} reads {node.module}"
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rabbet")
        if nearest(node.module) in (None, "rabbet") and node.module != "rabbet"
    ]
    assert found == []


def test_no_two_classes_of_core_share_a_name():
    """A word means one thing. Private names and those of ctypes stand for themselves."""
    places = {}
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    assert {word: found for word, found in places.items() if len(found) > 1} == {}


def asked_of_others(path):
    """(line, name) of what a file reads from ``rabbet`` that a first-party plugin provides."""
    tree = ast.parse(path.read_text(), str(path))
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "rabbet":
                    names[alias.asname or "rabbet"] = alias.name if alias.asname else "rabbet"
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full.startswith("rabbet."):
                    yield node.lineno, full[len("rabbet.") :]
                    names[alias.asname or alias.name] = full
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = (dotted(node) or "").partition(".")
            if names.get(first) == "rabbet":
                yield node.lineno, rest


def provider(name):
    """The distribution that provides ``rb.<name>`` or what lies in it; None for core."""
    while name:
        if catalogue.provider("rabbet.api", name) is not None:
            return catalogue.provider("rabbet.api", name)
        name = name.rpartition(".")[0]
    return None


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda folder: folder.name)
def test_a_plugin_declares_what_it_asks_of_others(plugin):
    project = tomllib.loads((plugin / "pyproject.toml").read_text())["project"]
    optional = [line for group in project.get("optional-dependencies", {}).values() for line in group]
    lines = [*project["dependencies"], *optional]
    declared = {project["name"], *(re.match(r"[A-Za-z0-9._-]+", line).group() for line in lines)}
    found = [
        f"{path.relative_to(ROOT)}:{line} asks for rb.{name} of {provider(name)}"
        for path in (plugin / "src").rglob("*.py")
        for line, name in asked_of_others(path)
        if provider(name) not in {None, *declared}
    ]
    assert found == []


def test_versions_of_jaxlib_are_compared_in_one_place():
    """What differs between compilers is a named fact; `rabbet.runtime.jaxlib.compiler_facts` has them."""
    found = []
    for path in [*MODULES.values(), *(path for folder in PLUGINS for path in (folder / "src").rglob("*.py"))]:
        if path.name == "compiler_facts.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            asked = isinstance(node, (ast.Compare, ast.Attribute)) and any(
                isinstance(one, ast.Call) and getattr(one.func, "id", None) == "jaxlib_version"
                for one in ([node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.value])
            )
            if asked:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []
