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

class custom_vmap(Generic[Given, R]):
    """A function with a rule of its own for vmap."""
    def __init__(self, fun: Callable[Given, R]) -> None: ...
    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> R: ...
    def def_vmap(self, vmap_rule: F) -> F: ...
def sequential_vmap(f: Callable[Given, R]) -> custom_vmap[Given, R]: ...
