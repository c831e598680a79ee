# Written by tools/stubs.py: change the function, or tools/stub_types.toml, and write it again.
from typing import Any, Protocol

from rabbet import Array as Array
from rabbet import ArrayLike as ArrayLike
from rabbet import DTypeLike as DTypeLike

class SupportsDType(Protocol):
    @property
    def dtype(self) -> Any: ...
