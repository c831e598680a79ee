# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rabbet import Array, ArrayLike, Device, DTypeLike

F = TypeVar("F", bound=Callable[..., Any])


class SymbolicDimension:
    """The base class of dimensions that are not numbers while a function is traced."""
    def at_least(self, other: Any) -> Any: ...
    def at_most(self, other: Any) -> Any: ...
def dimension_of(size: Any) -> Any: ...
def exceeds(size: Any, most: Any) -> Any: ...
def whole_number(who: Any, what: Any, value: Any) -> Any: ...
