"""Core knows no plugin, table or transformation by name: it asks for what they declare.

Core's sources are parsed. A name of a rule table, of a primitive that carries programs, of what a plugin
offers or of its distribution may stand beside a primitive as the name of its rule, in a message or in a
document, but nothing may be compared with it or looked up by it.
"""

import ast
import json
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = ROOT / "core/src/rabbet"
CATALOGUE = json.loads((CORE / "plugins/catalogue.json").read_text())
FILES = sorted(path for path in CORE.rglob("*.py") if "templates" not in path.parts)

TABLES = {"lower", "jvp", "vjp", "transpose", "batch", "collective", "split", "jet", "checkify", "enclose"}
PROGRAMS = {"jit", "cond", "while", "scan", "checkpoint", "custom_linear", "linear_solve"}
# Words of the command line, such as `rabbet devices`, are words of Python's and of core's as well.
OFFERED = {
    word
    for group, names in CATALOGUE.items() if group != "rabbet.commands"
    for name in names for word in (name, name.rpartition(".")[2])
}  # fmt: skip
NAMES = TABLES | PROGRAMS | OFFERED
PACKAGES = {package for names in CATALOGUE.values() for package in names.values()}
# Functions and methods that find something by a name.
LOOKUPS = {
    "get", "pop", "find", "lookup", "setdefault", "resolve", "getattr", "hasattr", "startswith", "endswith",
    "public_name", "by_plugin", "index", "count",
}  # fmt: skip
# What core is right to know: names of platforms and dtypes, which people write, a setting of its own, and the
# name under which it asks for the methods of arrays.
OWN = {"disable_jit", "Array.format", "Array.methods", "sharding"}
VOCABULARY = {*CATALOGUE["rabbet.backends"], *CATALOGUE["rabbet.dtypes"], *OWN}


def constants(tree):
    """The module's names for strings: ``BATCH = "batch"`` does not hide a comparison with it."""
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }


def words(node, known):
    """The strings that an expression is, or consists of."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.Name):
        return [known[node.id]] if node.id in known else []
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return [word for one in node.elts for word in words(one, known)]
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("frozenset", "set"):
        return [word for one in node.args for word in words(one, known)]
    return []


def of_a_primitive(node):
    """Whether a subscript reads a parameter of an operator: ``op["transpose"]``, ``op.params["name"]``."""
    value = node.value
    return (isinstance(value, ast.Name) and value.id in ("op", "params")) or (
        isinstance(value, ast.Attribute) and value.attr == "params"
    )


def of_an_owner(function):
    """Whether a primitive's file takes back a rule that its maker gave it: ``square.rules.pop("lower")``."""
    return isinstance(function, ast.Attribute) and function.attr == "pop" and (
        isinstance(function.value, ast.Attribute) and function.value.attr == "rules"
    )  # fmt: skip


def uses(node, known):
    """The strings by which this part of a program compares or looks up."""
    if isinstance(node, ast.Compare):
        return [word for one in (node.left, *node.comparators) for word in words(one, known)]
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not of_a_primitive(node):
        return words(node.slice, known)
    if isinstance(node, ast.Call):
        if of_an_owner(node.func):
            return []
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        return [word for one in node.args for word in words(one, known)] if name in LOOKUPS else []
    if isinstance(node, ast.MatchValue):
        return words(node.value, known)
    return []


def offences(source):
    """(line, string) of each comparison with, or lookup by, a name that core should not know."""
    tree = ast.parse(source)
    known = constants(tree)
    for node in ast.walk(tree):
        for word in uses(node, known):
            if word in NAMES - VOCABULARY or word in PACKAGES:
                yield node.lineno, word


def documents(tree):
    """The strings that are documentation."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def test_core_compares_with_no_name():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word!r}"
        for path in FILES
        for line, word in offences(path.read_text())
    ]
    assert found == []


def test_core_lists_no_package():
    found = []
    for path in FILES:
        tree = ast.parse(path.read_text())
        documented = set(map(id, documents(tree)))
        found += [
            f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r:.60}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
            if any(package in node.value for package in PACKAGES)
        ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        'if interpreter.table.name == "jvp": pass',
        'if "batch" in rules: pass',
        'all_tables()["batch"]',
        'primitive.find("transpose")',
        'x = name in ("jit", "cond")',
        'BATCH = "batch"\nrules.get(BATCH)',
        'CALLS = 1\nif name in frozenset(["scan"]): pass',
        'if home == "rabbet-autodiff": pass',
    ],
)
def test_such_a_comparison_is_found(line):
    assert list(offences(line))


@pytest.mark.parametrize(
    "line", ['@mul.rule("jvp")\ndef f(op): pass', 'op["transpose"]', 'Primitive("jit", f)']
)
def test_what_stands_beside_a_primitive_is_none(line):
    assert list(offences(line)) == []


# JAX's words for members of core's central classes: jax_compat gives them, by ``second_names``.
ANOTHERS_WORDS = {
    "bind", "impl", "bind_with_trace", "get_bind_params", "lo_ty", "lower_val", "raise_val",
    "at_least_vspace", "_trace", "main",
}  # fmt: skip


CENTRAL = ("rules/primitive.py", "program/avals.py", "trace/interpreter.py", "trace/tracer.py")


@pytest.mark.parametrize("file", CENTRAL)
def test_central_classes_have_no_words_of_another_library(file):
    members = {
        name
        for cls in ast.walk(ast.parse((CORE / file).read_text())) if isinstance(cls, ast.ClassDef)
        for node in cls.body
        for name in (
            [node.name] if isinstance(node, ast.FunctionDef)
            else [t.id for t in node.targets if isinstance(t, ast.Name)]
            if isinstance(node, ast.Assign) else []
        )
    }  # fmt: skip
    assert members and not members & ANOTHERS_WORDS
