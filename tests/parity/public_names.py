"""Prints, as JSON, the public names of every public module of the jax that is imported: by module.

    python tests/parity/public_names.py                  # of jax
    python -m rabbet_jax tests/parity/public_names.py F  # those of the list in the file F that are absent

A name is public if it has no underscore in front and is neither a module from elsewhere nor something that
Python or a helper of jax's own brought along (``partial``, ``Any``, ``safe_map``).
"""

import contextlib
import importlib
import io
import json
import pkgutil
import sys
import types
import warnings

BROUGHT_ALONG = (
    "typing",
    "functools",
    "collections",
    "collections.abc",
    "builtins",
    "jaxlib.utils",
    "jax._src.util",
)


def public(module, name):
    value = getattr(module, name)
    if name.startswith("_") or isinstance(value, types.ModuleType) or type(value).__name__ == "_Feature":
        return False
    home = getattr(value, "__module__", None) if callable(value) else None
    return home not in BROUGHT_ALONG


def walk(name, found):
    try:
        module = importlib.import_module(name)
    except Exception:
        return
    names = getattr(module, "__all__", None) or dir(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found[name] = []
        for each in names:
            with contextlib.suppress(Exception):
                if public(module, each):
                    found[name].append(each)
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not info.name.startswith("_"):
            walk(f"{name}.{info.name}", found)


def absent(names):
    """Of the names by module, those that cannot be read here or are stand-ins."""
    missing = {}
    for module, wanted in names.items():
        try:
            there = importlib.import_module(module)
        except Exception:  # what a module of JAX's own files is made of may be absent
            missing[module] = sorted(wanted)
            continue
        for name in wanted:
            try:
                value = getattr(there, name)
            except Exception:
                value = None if name in vars(there) else absent
            if value is absent or (isinstance(value, type) and type(value).__name__ == "absent"):
                missing.setdefault(module, []).append(name)
    return {module: sorted(names) for module, names in sorted(missing.items()) if names}


if __name__ == "__main__":
    found: dict = {}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(sys.argv) > 1:
            with open(sys.argv[1]) as file:
                found = absent(json.load(file))
        else:
            walk("jax", found)
    print(json.dumps(found))
