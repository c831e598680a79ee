# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rabbet import Array, ArrayLike, Device, DTypeLike

F = TypeVar("F", bound=Callable[..., Any])

def hookimpl(function: Callable[..., Any] = ..., **options: Any) -> Any: ...
def hooks_are_listening() -> Any: ...
def official_packages() -> Any: ...
def tell_hooks(hook: Any, **facts: Any) -> Any: ...
