"""The type stubs of the doors, ``rabbet.extend.*``: classes with their members, functions, primitives.

Names, members and parameters are those of the running package. Types come from ``stub_types.toml``, whose
table ``doors`` has those that differ; what it does not name is ``Any``.
"""

import ast
import enum
import importlib
import inspect
import textwrap

from rabbet.extend import DOORS

SPECIAL = "__call__ __getitem__ __len__ __iter__ __contains__ __enter__ __exit__".split()
HEAD = """\
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rabbet import Array, ArrayLike, Device, DTypeLike

F = TypeVar("F", bound=Callable[..., Any])
"""


# Annotations that a stub can repeat as they are.
BUILTIN = frozenset(("bool", "float", "int", "str"))


def homes():
    """The door of each class."""
    return {
        name: door
        for door in DOORS
        for name, thing in vars(importlib.import_module(f"rabbet.extend.{door}")).items()
        if isinstance(thing, type) and name in importlib.import_module(f"rabbet.extend.{door}").__all__
    }


def assigned(cls):
    """The public attributes that ``__init__`` and its like set."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return []
    return [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if isinstance(node.value, ast.Name) and node.value.id == "self" and not node.attr.startswith("_")
    ]


def parameters(function, types):
    """The parameters of a function or method with types, as text; without ``self``."""
    try:
        given = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return "*args: Any, **kwargs: Any"
    written = []
    for i, p in enumerate(given):
        if p.name in ("self", "cls") and i == 0:
            continue
        before = {q.kind for q in given[:i]}
        if p.kind is p.KEYWORD_ONLY and not before & {p.KEYWORD_ONLY, p.VAR_POSITIONAL}:
            written.append("*")
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else " = ..."
        written.append(f"{stars}{p.name}: {'Any' if stars else types.get(p.name, 'Any')}{default}")
        last = i + 1 == len(given) or given[i + 1].kind is not p.POSITIONAL_ONLY
        if p.kind is p.POSITIONAL_ONLY and last:
            written.append("/")
    return ", ".join(written)


def of_function(function, returns, types):
    """``(parameters) -> returns`` without ``self``. What returns ``F`` is a decorator: it takes one first."""
    own = types["parameters"]
    if returns == "F":
        first = next(name for name in inspect.signature(function).parameters if name != "self")
        own = {**own, first: "F"}
    return f"({parameters(function, own)}) -> {returns}: ..."


def member(cls, name, types):
    """The lines for one member of a class."""
    found = inspect.getattr_static(cls, name)
    own = types["returns"].get(f"{cls.__name__}.{name}", "Any")
    if isinstance(found, property) or not (callable(found) or isinstance(found, (classmethod, staticmethod))):
        if isinstance(found, property) and found.fset is None:
            return ["    @property", f"    def {name}(self) -> {own}: ..."]
        return [f"    {name}: {own}"]
    function = getattr(found, "__func__", found)
    if not inspect.isfunction(function):
        return [f"    {name}: {own}"]
    text = of_function(function, own, types)
    if isinstance(found, staticmethod):
        return ["    @staticmethod", f"    def {name}{text}"]
    first = "cls" if isinstance(found, classmethod) else "self"
    text = f"({first}, {text[1:]}" if not text.startswith("()") else f"({first}{text[1:]}"
    return [*["    @classmethod"][: first == "cls"], f"    def {name}{text}"]


def class_stub(cls, home, types):
    """The lines for a class: its bases at the doors, fields, members."""
    doc = (inspect.getdoc(cls) or "").splitlines()
    head = [f'    """{doc[0].rstrip()}"""'] if doc and '"' not in doc[0] and "\\" not in doc[0] else []
    if issubclass(cls, enum.Enum):
        kind = "StrEnum" if issubclass(cls, str) else "Enum"
        return [f"class {cls.__name__}({kind}):", *head, *[f"    {m.name} = {m.value!r}" for m in cls]]
    if hasattr(cls, "_fields"):
        defaults = cls._field_defaults
        fields = [f"    {name}: Any{' = ...' if name in defaults else ''}" for name in cls._fields]
        return [f"class {cls.__name__}(NamedTuple):", *head, *fields]
    bases = [b for b in cls.__mro__[1:] if b.__name__ in home]
    known = {name for base in bases for name in dir(base)}
    over = types["bases"].get(cls.__name__)
    base = over or "".join([b.__name__ for b in bases[:1]])
    lines = [f"class {cls.__name__}({base}):" if base else f"class {cls.__name__}:", *head]
    inherited = {"Array": "interpreter payload aval where".split()}.get(over)
    slots = [n for b in cls.__mro__[:-1] for n in getattr(b, "__slots__", ()) if not n.startswith("_")]
    own_bases = [b for b in cls.__mro__[:-1] if b is cls or b.__name__ not in home]
    attributes = [name for b in own_bases for name in (*vars(b).get("__annotations__", ()), *assigned(b))]
    annotations = {n: t for b in reversed(own_bases) for n, t in vars(b).get("__annotations__", {}).items()}
    names = inherited or [*slots, *attributes, *[n for n in dir(cls) if not n.startswith("_")]]
    made = cls.__init__ if inspect.isfunction(cls.__init__) else cls.__new__
    if inspect.isfunction(made):
        shown = parameters(made, types["parameters"])
        lines.append(f"    def __init__(self{', ' if shown else ''}{shown}) -> None: ...")
    for name in dict.fromkeys(names):
        if name in known and name not in vars(cls):
            continue
        said = annotations.get(name)
        own = types["returns"].get(f"{cls.__name__}.{name}", said if said in BUILTIN else "Any")
        if inherited or name in slots or not hasattr(cls, name):
            lines.append(f"    {name}: {own}")
        else:
            lines += member(cls, name, types)
    lines += [line for n in SPECIAL if n in vars(cls) and inherited is None for line in member(cls, n, types)]
    return lines if len(lines) > 1 else [*lines, "    ..."]


def stub(door, types):
    """The whole stub of one door."""
    module, home = importlib.import_module(f"rabbet.extend.{door}"), homes()
    lines, imports = [], set()
    for name in dict.fromkeys([*module.__all__, *sorted(n for n in dir(module) if n not in module.__all__)]):
        thing = getattr(module, name)
        kind = type(thing).__name__
        if isinstance(thing, type):
            imports |= {b.__name__ for b in thing.__mro__[1:] if home.get(b.__name__, door) != door}
            lines += ["", *class_stub(thing, home, types)]
        elif name not in module.__all__:
            lines.append(f"{name}: Primitive")
        elif callable(thing) and hasattr(thing, "__name__"):
            lines += [f"def {name}{of_function(thing, types['returns'].get(name, 'Any'), types)}"]
        elif kind in home:
            imports |= {kind} if home[kind] != door else set()
            lines.append(f"{name}: {kind}")
        else:
            lines.append(f"{name}: Any")
    others = [f"from rabbet.extend.{home[name]} import {name}" for name in sorted(imports)]
    return "\n".join([HEAD, *others, *lines]) + "\n"
