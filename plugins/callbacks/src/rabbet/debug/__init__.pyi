# Written by tools/stubs.py: change the function, or tools/stub_types.toml, and write it again.
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numpy as np

Given = ParamSpec("Given")
R = TypeVar("R")
Tree = TypeVar("Tree")
F = TypeVar("F", bound=Callable[..., Any])

from rabbet import Array, ArrayLike, Device, DTypeLike
from rabbet.extend.primitive import Primitive

def breakpoint(*, backend: Any = ..., filter_frames: Any = ..., num_frames: Any = ..., ordered: bool = ..., token: Any = ..., **kwargs: Any) -> Array: ...
def callback(callback: Callable[..., Any] | None = ..., *args: Any, ordered: bool = ..., partitioned: bool = ..., **kwargs: Any) -> None: ...
def check_format(who: str, fmt: str, args: Any, kwargs: Any) -> Array: ...
def inspect_array_sharding(value: ArrayLike, *, callback: Callable[..., Any]) -> Array: ...
def log(fmt: str | None = ..., *args: Any, ordered: bool = ..., partitioned: bool = ..., skip_format_check: bool = ..., **kwargs: Any) -> None: ...
def print(fmt: str | None = ..., *args: Any, ordered: bool = ..., partitioned: bool = ..., skip_format_check: bool = ..., **kwargs: Any) -> None: ...
