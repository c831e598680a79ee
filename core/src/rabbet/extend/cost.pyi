# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rabbet import Array, ArrayLike, Device, DTypeLike

F = TypeVar("F", bound=Callable[..., Any])

from rabbet.extend.transform import RuleTable

class Cost(NamedTuple):
    """What an operation, or a program, costs."""
    flops: Any = ...
    bytes: Any = ...
    transcendentals: Any = ...
    fuses: Any = ...
cost: RuleTable
def cost_of(program: Any, *, own_only: Any = ..., rounds: Any = ..., counts: Any = ...) -> Any: ...
