# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numpy as np

Given = ParamSpec("Given")
R = TypeVar("R")
Tree = TypeVar("Tree")
F = TypeVar("F", bound=Callable[..., Any])

from rabbet import Array, ArrayLike, Device, DTypeLike
from rabbet.extend.primitive import Primitive

class Offloadable(NamedTuple):
    """What a policy returns for results that are kept in another memory."""
    src: Any
    dst: Any
from rabbet import checkpoint as checkpoint
def checkpoint_name(x: Tree, name: str) -> Tree: ...
from rabbet import checkpoint_policies as checkpoint_policies  # type: ignore[attr-defined]
def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None: ...
from rabbet import remat as remat
def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]: ...
