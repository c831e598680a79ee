# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.
from typing import Any, Protocol, TypeAlias

from rabbet import Array as Array
from rabbet import ArrayLike as ArrayLike
from rabbet import DTypeLike as DTypeLike

DType: TypeAlias = Any
Value: TypeAlias = Any

class SupportsDType(Protocol):
    @property
    def dtype(self) -> Any: ...
