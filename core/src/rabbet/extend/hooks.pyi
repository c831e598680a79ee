# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rabbet import Array, ArrayLike, Device, DTypeLike

F = TypeVar("F", bound=Callable[..., Any])


class CompiledProgram:
    """A program that is ready to run."""
    def __init__(self, name: str, where: Any, platform: Any, devices: Any, seconds: Any, origin: Any, argument_bytes: Any, output_bytes: Any, temporary_bytes: Any, collectives: Any = ...) -> None: ...
    name: Any
    where: Any
    platform: Any
    devices: Any
    seconds: Any
    origin: Any
    argument_bytes: Any
    output_bytes: Any
    temporary_bytes: Any
    collectives: Any

class PassRun:
    """One pass over one program."""
    def __init__(self, name: str, program: Any, where: Any, platform: Any, seconds: Any, before: Any, after: Any) -> None: ...
    name: Any
    program: Any
    where: Any
    platform: Any
    seconds: Any
    before: Any
    after: Any

class Transfer:
    """Values that were moved."""
    def __init__(self, direction: Any, nbytes: Any, device: Any, explicit: Any) -> None: ...
    direction: Any
    nbytes: Any
    device: Any
    explicit: Any
def example_facts() -> Any: ...
def hookimpl(function: Callable[..., Any] = ..., **options: Any) -> Any: ...
def hooks_are_listening() -> Any: ...
def official_packages() -> Any: ...
def tell_hooks(hook: Any, **facts: Any) -> Any: ...
