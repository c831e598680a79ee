"""Options that a function does not read: its docstring names each, to say why, or a list here does."""

import ast
import itertools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "core/src", "plugins/*/*/src", "pjrt_*/src"
# What a caller passes because a protocol says so, whether this one needs it or not.
PROTOCOLS = {
    "context": "what every pass of programs is called with",
    "find_spec.path": "importlib's",
    "find_spec.target": "importlib's",
    "part.value_operands": "one of several readers of memory that are called alike",
}
# Its functions have JAX's parameters, so that libraries for JAX can call them, and no users of their own.
FOR_LIBRARIES_OF_JAX = "plugins/interop/jax_compat/"


def public_functions(node, path=()):
    """Each function and method with a docstring and a public name, as ``(its dotted name, node)``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from public_functions(child, (*path, child.name))
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = (*path, child.name)
            if ast.get_docstring(child) and not any(name.startswith("_") for name in inner):
                yield ".".join(inner), child
        elif not isinstance(child, ast.expr):
            yield from public_functions(child, path)


def unread(function):
    """The parameters with a default that the body never names; none of what only raises, or does nothing."""
    body = function.body[1:]
    if all(isinstance(one, (ast.Raise, ast.Pass)) for one in body):
        return []
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    optional = positional[len(positional) - len(args.defaults) :]
    optional += [p for p, given in zip(args.kwonlyargs, args.kw_defaults, strict=True) if given is not None]
    read = {one.id for one in itertools.chain(*map(ast.walk, body)) if isinstance(one, ast.Name)}
    decorators = " ".join(map(ast.unparse, function.decorator_list))
    read |= {"out_sharding"} if "obeys_out_sharding" in decorators else set()  # the decorator reads it
    return [] if "locals" in read else [p.arg for p in optional if p.arg not in read and p.arg[0] != "_"]


def says(docstring, parameter):
    """Whether it names the parameter: as a line of its arguments, or between double backticks."""
    return re.search(rf"``{parameter}\b|^\s*(\w+, )*{parameter}(, \w+)*:", docstring, re.MULTILINE)


def silent(source, where=""):
    """The options of a source that are not read, and not spoken of."""
    return [
        f"{where}:{function.lineno} {name}({parameter})"
        for name, function in public_functions(ast.parse(source))
        for parameter in unread(function)
        if not says(ast.get_docstring(function), parameter)
        and not {parameter, f"{function.name}.{parameter}"} & PROTOCOLS.keys()
    ]


def test_options_that_are_not_read_are_spoken_of():
    found, files = [], 0
    for path in sorted(path for folder in SOURCES for one in ROOT.glob(folder) for path in one.rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        if not where.startswith(FOR_LIBRARIES_OF_JAX):
            files += 1
            found += silent(path.read_text(), where)
    assert files > 300
    assert not found, "\n".join(["let it act, raise, or say in the docstring why it has no effect:", *found])


def test_an_option_without_effect_is_found():
    head = 'def f(x, *, fast=False):\n    """Twice x.'
    assert silent(f'{head}"""\n    return 2 * x\n') == [":1 f(fast)"]
    assert not silent(f'{head} ``fast`` has no effect."""\n    return 2 * x\n')
    assert not silent(f'{head}\n\n    Args:\n      fast: a hint.\n    """\n    return 2 * x\n')
    assert not silent(f'{head}"""\n    return g(x, fast)\n')
    assert not silent(f'{head}"""\n    raise TypeError\n')
