"""The types of parameters and results as a reader writes them, and where a name is defined.

Types come from the stub beside a module, where it says more than ``Any``, else from the function itself.
"""

import ast
import functools
import importlib
import inspect
import pathlib
import re
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[3]
# What a reader learns nothing from.
SILENT = {"", "Any", "None", "..."}
PLAIN = {"Value": "Array"}


def annotation(kind: Any) -> str:
    """A type as a reader writes it: without quotes, and without the modules that say nothing."""
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    text = re.sub(r"\brabbet(?:\.\w+)*\.(?=\w)", "", text.strip("'\""))
    text = re.sub(r"\b(?:collections\.abc|typing|types|numpy|np)\.(?=\w)", "", text)
    return re.sub(r"\bValue\b", PLAIN["Value"], text)


@functools.cache
def stub(module: str) -> dict[str, dict[str, str]]:
    """The types of a module's functions by its stub: by name, by parameter. Functions of several signatures
    are left out.
    """
    file = inspect.getsourcefile(importlib.import_module(module))
    path = pathlib.Path(file or "").with_suffix(".pyi")
    if not path.exists():
        return {}
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            given += [one for one in (node.args.vararg, node.args.kwarg) if one]
            types = {one.arg: ast.unparse(one.annotation) for one in given if one.annotation}
            found[node.name] = types | ({"return": ast.unparse(node.returns)} if node.returns else {})
    return found


def type_of(module: str, name: str, parameter: str, own: Any) -> str:
    """The type to show for a parameter, or for ``return``; nothing where nothing is known."""
    said = stub(module).get(name, {}).get(parameter, "")
    if said in SILENT:
        said = "" if own is inspect.Parameter.empty or own is None else annotation(own)
    else:
        said = annotation(said)
    return "" if said in SILENT else said


def source(thing: Any) -> str | None:
    """``core/src/rabbet/lax/loops.py:115`` of a function or class of ours; None for one that was made by
    another function, where nothing of it stands.
    """
    thing = inspect.unwrap(thing) if callable(thing) else thing
    if inspect.isfunction(thing) and thing.__code__.co_name != thing.__name__:
        return None
    try:
        file, (_, line) = inspect.getsourcefile(thing), inspect.getsourcelines(thing)
        return f"{pathlib.Path(file or '').resolve().relative_to(ROOT)}:{line}"
    except (TypeError, OSError, ValueError):
        return None
