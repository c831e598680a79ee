# Written by tools/stubs.py: change the function, or tools/stub_types.toml, and write it again.
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rabbet import Array, ArrayLike, Device, DTypeLike

F = TypeVar("F", bound=Callable[..., Any])


class SymbolicDimension:
    """The base class of dimensions that are no numbers while a function is traced."""
    def at_least(self, other: Any) -> Any: ...
    def at_most(self, other: Any) -> Any: ...
def dimension_of(size: Any) -> Any: ...
def exceeds(size: Any, most: Any) -> Any: ...
