"""Which names of jax the sources of libraries mention, and which of them Rabbet does not serve.

    python tools/check/library_names.py optax flax.nnx            # installed packages, or modules of them

Attributes are read off the text (``jax.lax.foo``, ``from jax import x``, aliases of modules too). Nothing
of the libraries is run; a name behind a condition on the version counts too. Tests of libraries are left out.
"""

import ast
import collections
import importlib
import importlib.util
import pathlib
import sys


def mentioned(tree):
    """The full names below ``jax`` that a module mentions."""
    aliases, found = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.partition(".")[0] == "jax":
                    found.add(name.name)
                    aliases[name.asname or "jax"] = name.name if name.asname else "jax"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "jax":
            for name in node.names:
                found.add(f"{node.module}.{name.name}")
                aliases[name.asname or name.name] = f"{node.module}.{name.name}"
    for node in ast.walk(tree):
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id in aliases:
            found.add(".".join([aliases[node.id], *reversed(parts)]))
    return found


def files_of(package):
    """The files of a package or a module, without tests."""
    origin = pathlib.Path(importlib.util.find_spec(package).origin)
    files = origin.parent.rglob("*.py") if origin.name == "__init__.py" else [origin]
    return [file for file in files if not file.stem.endswith("_test") and not file.stem.startswith("test_")]


def state_of(name):
    """``served``, ``absent`` (it can be read and raises when it is called) or ``unknown``."""
    value, parts = importlib.import_module("jax"), name.split(".")[1:]
    for i, part in enumerate(parts):
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(".".join(["jax", *parts[: i + 1]]))
            except ImportError:
                return "unknown"
        if type(value).__name__ == "absent":
            return "absent"
        if not hasattr(value, "__path__") and not hasattr(value, "_sources"):
            return "served"  # what hangs on a function or class is not looked at
    return "served"


def main():
    import rabbet_jax

    rabbet_jax.install()
    users = collections.defaultdict(set)
    for package in sys.argv[1:]:
        for file in files_of(package):
            for name in mentioned(ast.parse(file.read_text())):
                users[name].add(package)
    states = collections.defaultdict(list)
    for name in sorted(users):
        if "*" not in name:
            states[state_of(name)].append(name)
    print(", ".join(f"{len(names)} {state}" for state, names in sorted(states.items())))
    for state in ("absent", "unknown"):
        for name in states[state]:
            print(f"{state:8} {name}  ({', '.join(sorted(users[name]))})")


if __name__ == "__main__":
    main()
