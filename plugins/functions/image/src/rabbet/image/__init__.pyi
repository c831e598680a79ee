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

from rabbet.image.kernels import ResizeMethod as ResizeMethod
def resize(image: Any, shape: Sequence[int], method: Any, antialias: bool = ..., precision: Any = ...) -> Array: ...
def scale_and_translate(image: Any, shape: Sequence[int], spatial_dims: Sequence[int], scale: ArrayLike, translation: Any, method: Any, antialias: bool = ..., precision: Any = ...) -> Array: ...
