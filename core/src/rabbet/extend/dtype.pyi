# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rabbet import Array, ArrayLike, Device, DTypeLike

F = TypeVar("F", bound=Callable[..., Any])


class DTypeSpec:
    """One row of the table, as a value."""
    def __init__(self, name: str, numpy_dtype: Any, mlir: Any, kind: Any, above: Any = ..., below: Any = ..., finfo: Any = ..., compute: Any = ..., bits: Any = ..., infinities: Any = ..., nan: Any = ..., negative_zero: Any = ..., zero: Any = ..., overflow: Any = ..., rounding: Any = ..., codes: Any = ..., decode: Any = ..., encode: Any = ...) -> None: ...
    name: str
    numpy_dtype: Any
    mlir: Any
    kind: str
    above: Any
    below: Any
    finfo: Any
    compute: Any
    bits: Any
    infinities: Any
    nan: Any
    negative_zero: Any
    zero: Any
    overflow: Any
    rounding: Any
    codes: Any
    decode: Any
    encode: Any
    dtype: Any
    highest: Any
    largest: Any
    limits: Any
    lowest: Any
    smallest: Any
    @property
    def storage_bits(self) -> Any: ...

class ExtendedDType:
    """A dtype of our own making, such as that of random keys. Two of the same class and name are equal."""
    def __init__(self, name: str, physical_dtype: Any, physical_shape: Any = ...) -> None: ...
    encode: Any
    decode: Any
    name: Any
    physical_dtype: Any
    physical_shape: Any
    @property
    def itemsize(self) -> Any: ...
    kind: Any
    type: Any
def host_cast(host: Any, dtype: Any) -> Any: ...
def lowers_stored(op: Any, *stored: Any) -> Any: ...
