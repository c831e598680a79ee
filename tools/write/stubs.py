"""Write the type stubs of Rabbet's faces: what type checkers and editors see of names that are found when
they are used.

    python tools/write/stubs.py            # writes the .pyi files beside the faces
    python tools/write/stubs.py --check    # fails if one is not what would be written

Names, signatures and types are those of the running packages, as they are annotated. What `stub_types.toml`
has are signatures that an annotation cannot say: several of one function.
"""

import argparse
import importlib
import inspect
import os
import pathlib
import re
import sys
import tomllib
import types

import door_stubs
import stub_annotations
from rabbet.extend import DOORS

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Examples may be installed beside the packages, and are none.
EXAMPLES = [path.name for path in (ROOT / "examples" / "third_party").iterdir()]
os.environ["RABBET_DISABLE_PLUGINS"] = ",".join(EXAMPLES)
TYPES = tomllib.loads((ROOT / "tools" / "write" / "stub_types.toml").read_text())
FACES = (
    "rabbet", "rabbet.lax", "rabbet.lax.linalg", "rabbet.numpy", "rabbet.numpy.fft", "rabbet.numpy.linalg",
    "rabbet.nn", "rabbet.nn.initializers", "rabbet.random", "rabbet.image", "rabbet.ops", "rabbet.debug",
)  # fmt: skip
# Single modules that plugins lay beside core's.
LONE = (
    "rabbet.ad_checkpoint", "rabbet.checkpoint_policies", "rabbet.custom_batching",
    "rabbet.custom_derivatives",
    "rabbet.stages",
)  # fmt: skip
INITIALIZERS = frozenset(("Initializer",))  # a name of their own that the stubs of rabbet.nn have
CHECKED = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["packages"]
FIRST = "# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.\n"
HEAD = (
    FIRST
    + """\
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numpy as np

Given = ParamSpec("Given")
R = TypeVar("R")
Tree = TypeVar("Tree")
F = TypeVar("F", bound=Callable[..., Any])
"""
)
ALIASES = """\
class HasShape(Protocol):  # arrays of other libraries, tracers
    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
Number: TypeAlias = np.generic | bool | int | float | complex
ArrayLike: TypeAlias = Array | np.ndarray[Any, Any] | HasShape | Number | Sequence[Any]
DTypeLike: TypeAlias = Any
"""
TYPING = """\
from typing import Any, Protocol, TypeAlias

from rabbet import Array as Array
from rabbet import ArrayLike as ArrayLike
from rabbet import DTypeLike as DTypeLike

DType: TypeAlias = Any
Value: TypeAlias = Any

class SupportsDType(Protocol):
    @property
    def dtype(self) -> Any: ...
"""
DEVICE = '''
class Device:
    """A place where arrays are and programs run."""
    id: int
    platform: str
    device_kind: str
    raw: Any
    process_index: int
    client: Any
    def memory_stats(self) -> Any: ...
'''
JITTED = '''
from typing import Self, final

class Transformed(Generic[Given, R]):
    """What ``grad`` and ``vmap`` return: a function. A ``Callable`` of a lambda is untyped for mypy."""
    __name__: str
    __wrapped__: Any
    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> R: ...
    @overload
    def __get__(self, owner: None, kind: Any = None) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: Any = None) -> Transformed[..., R]: ...

class Jitted(Transformed[Given, R]):
    """What ``jit`` returns: the function, and its stages."""
    @overload
    def __get__(self, owner: None, kind: Any = None) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: Any = None) -> Jitted[..., R]: ...
    def trace(self, *args: Given.args, **kwargs: Given.kwargs) -> Any: ...
    def lower(self, *args: Given.args, **kwargs: Given.kwargs) -> Any: ...
    def eval_shape(self, *args: Given.args, **kwargs: Given.kwargs) -> Any: ...
    def clear_cache(self) -> None: ...
    def cache_size(self) -> int: ...

@final
class Unsaid:
    """No function. What takes it stands first, and mypy takes that for ``partial(rb.grad, argnums=1)``."""
'''
BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
COMPARE = "lt le gt ge".split()
UNARY = "neg pos abs invert".split()
ATTRIBUTES = {
    "shape": "tuple[int, ...]", "dtype": "Any", "ndim": "int", "size": "int", "itemsize": "int",
    "nbytes": "int",
    "T": "Array", "mT": "Array", "real": "Array", "imag": "Array", "at": "IndexUpdate", "aval": "Any",
    "sharding": "Any", "weak_type": "bool", "committed": "bool", "device": "Any", "flat": "Any",
    "is_fully_addressable": "bool", "is_fully_replicated": "bool", "global_shards": "Any",
    "addressable_shards": "Any", "format": "Any",
}  # fmt: skip
METHOD_RETURNS = {
    "tolist": "Any", "item": "Any", "devices": "set[Device]", "is_deleted": "bool", "is_ready": "bool",
    "delete": "None", "copy_to_host_async": "None", "tobytes": "bytes", "nonzero": "tuple[Array, ...]",
    "block_until_ready": "Array", "unsafe_buffer_pointer": "int", "addressable_data": "Array",
    "on_device_size_in_bytes": "int",
}  # fmt: skip
UPDATES = "set add subtract multiply mul divide power min max".split()


def class_of_arrays(array):
    """The class ``Array``: its operators, attributes and methods."""
    doc = '    """An array on a device, or what stands for one while a function is traced."""'
    lines = ["class Array:", doc]
    for name in BINARY:
        lines += [f"    def __{name}__(self, other: ArrayLike, /) -> Array: ..."]
        lines += [f"    def __r{name}__(self, other: ArrayLike, /) -> Array: ..."]
    lines += [f"    def __{name}__(self, other: ArrayLike, /) -> Array: ..." for name in COMPARE]
    lines += [
        f"    def __{name}__(self, other: Any, /) -> Array: ...  # type: ignore[override]"
        for name in ("eq", "ne")
    ]
    lines += [f"    def __{name}__(self) -> Array: ..." for name in UNARY]
    lines += [
        "    def __divmod__(self, other: ArrayLike, /) -> tuple[Array, Array]: ...",
        "    def __round__(self, ndigits: int | None = None) -> Array: ...",
        "    def __getitem__(self, index: Any, /) -> Array: ...",
        "    def __len__(self) -> int: ...",
        "    def __iter__(self) -> Iterator[Array]: ...",
        "    def __contains__(self, x: Any, /) -> bool: ...",
        "    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...",
        "    def __hash__(self) -> int: ...",
        "    def __deepcopy__(self, memo: Any) -> Array: ...",
    ]
    lines += [f"    def __{name}__(self) -> {name}: ..." for name in ("bool", "int", "float", "complex")] + [
        "    def __index__(self) -> int: ..."
    ]
    inner = ("raw", "spec", "deleted")
    for name in sorted(n for n in dir(array) if not n.startswith("_") and n not in inner):
        if name in ATTRIBUTES:
            lines += ["    @property", f"    def {name}(self) -> {ATTRIBUTES[name]}: ..."]
        else:
            returns = METHOD_RETURNS.get(name, "Array")
            lines += [f"    def {name}(self, *args: Any, **kwargs: Any) -> {returns}: ..."]
    lines += ["", "class IndexUpdate:", '    """``x.at``, and ``x.at[index]``."""']
    lines += ["    def __getitem__(self, index: Any, /) -> IndexUpdate: ..."]
    lines += [f"    def {name}(self, values: ArrayLike, **kwargs: Any) -> Array: ..." for name in UPDATES]
    lines += ["    def get(self, **kwargs: Any) -> Array: ..."]
    lines += ["    def apply(self, func: Callable[[Array], Any], **kwargs: Any) -> Array: ...", ""]
    return "\n".join(lines)


def parameter(p, operands=()):
    """One parameter with its type. ``operands``: those of a primitive, which are arrays."""
    kind = "ArrayLike" if p.name in operands else stub_annotations.given(p.annotation)
    if p.kind is p.VAR_POSITIONAL:
        return f"*{p.name}: {kind}"
    if p.kind is p.VAR_KEYWORD:
        return f"**{p.name}: {kind}"
    if p.default is p.empty:
        return f"{p.name}: {kind}"
    if p.default is None and kind != "Any" and "None" not in kind:
        kind += " | None"
    return f"{p.name}: {kind} = ..."


def signature(name, thing, returns=None, operands=(), known=frozenset()):
    """``def name(...) -> returns: ...`` from the function's own signature and annotations."""
    try:
        own = inspect.signature(thing)
    except (TypeError, ValueError):
        return f"def {name}(*args: Any, **kwargs: Any) -> {returns or 'Any'}: ..."
    parameters = list(own.parameters.values())
    returns = returns or stub_annotations.returned(own.return_annotation, known)
    written, after_star = [], False
    for i, p in enumerate(parameters):
        if p.kind is p.KEYWORD_ONLY and not after_star:
            after_star = True
            written.append("*")
        after_star |= p.kind is p.VAR_POSITIONAL
        written.append(parameter(p, operands))
        last = i + 1 == len(parameters) or parameters[i + 1].kind is not p.POSITIONAL_ONLY
        if p.kind is p.POSITIONAL_ONLY and last:
            written.append("/")
    return f"def {name}({', '.join(written)}) -> {returns}: ..."


def primitive(name, thing, returns):
    """A primitive: called with its operands, and with what all primitives have."""
    if getattr(thing, "__signature__", None) is None or not getattr(thing, "operands", ()):
        call = f"def __call__(self, *operands: ArrayLike, **parameters: Any) -> {returns}: ..."
    else:
        call = signature("__call__", thing, returns, thing.operands).replace("(", "(self, ", 1)
    return f"class _{name}(Primitive):\n    {call}\n{name}: _{name}"


def seen_by_mypy(module):
    """Whether mypy finds a module that the namespace ``rabbet`` offers, in an editable installation, too. A
    lone file that a plugin lays beside core's cannot say that it has types: a package can, by ``py.typed``.
    """
    path = pathlib.Path(module.__file__)
    return path.is_relative_to(ROOT / "core") or module.__name__ in CHECKED or path.name == "__init__.py"


def line_for(face, name, thing):
    """The text for one name."""
    own = TYPES["signatures"].get(face, {}).get(name)
    if own is not None:
        return own.strip()
    home = getattr(thing, "__module__", None)
    if isinstance(thing, types.ModuleType):
        parent, _, last = thing.__name__.rpartition(".")
        if not parent.startswith("rabbet"):
            return f"import {thing.__name__} as {name}"
        unseen = "" if seen_by_mypy(thing) else "  # type: ignore[attr-defined]"
        return f"from {parent} import {last} as {name}{unseen}"
    if type(thing).__name__ == "ScalarType":
        return (
            f"class {name}:\n    dtype: Any\n"
            "    def __new__(cls, x: ArrayLike = ...) -> Array: ...  # type: ignore[misc]"
        )
    if isinstance(thing, type):
        if face != "rabbet" and thing.__name__ in ("Array", "Device") and home.startswith("rabbet."):
            return f"{name} = {thing.__name__}"  # under another name: an import would not be public
        if home in ("rabbet", face) or home is None or not home.startswith("rabbet"):
            return f"{name}: type[Any]"
        if face in LONE:
            return "\n".join(door_stubs.class_stub(thing, door_stubs.homes(), TYPES["doors"]))
        if name != thing.__qualname__:  # a name that an import changes is private in a stub
            return f"from {home} import {thing.__qualname__}\n{name} = {thing.__qualname__}"
        return f"from {home} import {name} as {name}"
    if isinstance(thing, (bool, int, float)):
        return f"{name}: {type(thing).__name__}"
    if type(thing).__name__ in ("Primitive", "Product"):
        return primitive(name, thing, "list[Array]" if thing.multiple_results else "Array")
    if callable(thing):
        return signature(name, thing, known=INITIALIZERS if face.startswith("rabbet.nn") else frozenset())
    return f"{name}: Any"


def public(module):
    """The public names of a face, in order."""
    return [n for n in sorted(dir(module)) if not n.startswith("_")]


def stub(face):
    """The whole stub of one face."""
    module = importlib.import_module(face)
    lines = [HEAD]
    if face == "rabbet":
        lines += [class_of_arrays(module.Array), ALIASES, JITTED, "__version__: str", "_own: frozenset[str]"]
        lines += [DEVICE]
    else:
        lines += ["from rabbet import Array, ArrayLike, Device, DTypeLike"]
        lines += ["from rabbet.extend.primitive import Primitive", ""]
        if face.startswith("rabbet.nn"):
            lines += ["from rabbet.nn.initializers import Initializer", ""] if face == "rabbet.nn" else []
    children = [one.rpartition(".")[2] for one in FACES if one.rpartition(".")[0] == face]
    lines += [f"from {face} import {name} as {name}" for name in children if face != "rabbet"]
    for name in public(module):
        if name in children and face != "rabbet":
            continue
        if face == "rabbet" and name in ("Array", "Device"):
            continue
        lines.append(line_for(face, name, getattr(module, name)))
    text = "\n".join(lines) + "\n"
    if "bool" in public(module):  # the dtype: annotations mean the class
        text = re.sub(r"(?<!def )(?<!class )\bbool\b", "builtins.bool", text)
        text = text.replace(HEAD, "import builtins\n" + HEAD)
        text = text.replace("import builtins\n" + FIRST, FIRST + "import builtins\n")
    return text


def place(face):
    """Where the stub of a face lies: beside its module."""
    source = pathlib.Path(importlib.import_module(face).__file__)
    return source.with_suffix(".pyi")


def stubs():
    """Each stub that there is: its place, and its text."""
    for face in (*FACES, *LONE):
        yield place(face), stub(face)
    for door in DOORS:
        text = FIRST + door_stubs.stub(door, TYPES["doors"])
        yield place(f"rabbet.extend.{door}"), text
    yield place("rabbet.typing"), FIRST + TYPING
    # The doors are modules that type checkers find by themselves.
    yield place("rabbet.extend"), FIRST + "DOORS: tuple[str, ...]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for path, text in stubs():
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is out of date: run python tools/write/stubs.py")


if __name__ == "__main__":
    main()
