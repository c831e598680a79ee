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

def pad_ragged(arrays: Any, length: int | Sequence[int] | None = ..., fill_value: ArrayLike = ...) -> tuple[Array, Array]: ...
def segment_max(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = ..., indices_are_sorted: bool = ..., unique_indices: bool = ..., bucket_size: int | None = ..., mode: Any = ..., out_sharding: Any = ...) -> Array: ...
def segment_min(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = ..., indices_are_sorted: bool = ..., unique_indices: bool = ..., bucket_size: int | None = ..., mode: Any = ..., out_sharding: Any = ...) -> Array: ...
def segment_prod(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = ..., indices_are_sorted: bool = ..., unique_indices: bool = ..., bucket_size: int | None = ..., mode: Any = ..., out_sharding: Any = ...) -> Array: ...
def segment_sum(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = ..., indices_are_sorted: bool = ..., unique_indices: bool = ..., bucket_size: int | None = ..., mode: Any = ..., out_sharding: Any = ...) -> Array: ...
def unpad_ragged(stack: Any, mask: ArrayLike) -> list[Array]: ...
