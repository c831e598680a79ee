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

class CustomVJPPrimal:
    """An argument leaf as forward rules with ``symbolic_zeros=True`` see it: its value, and whether it is"""
    def __init__(self, value: Any, perturbed: Any) -> None: ...
    value: Any
    perturbed: bool
class SymbolicZero:
    """A tangent or cotangent that is zero, as rules with ``symbolic_zeros=True`` see it."""
    def __init__(self, aval: Any) -> None: ...
    aval: Any
    @property
    def dtype(self) -> Any: ...
    @property
    def ndim(self) -> Any: ...
    @property
    def shape(self) -> Any: ...
from rabbet import closure_convert as closure_convert
from rabbet import custom_gradient as custom_gradient
from rabbet import custom_jvp as custom_jvp
from rabbet import custom_vjp as custom_vjp
def custom_vjp_primal_tree_values(tree: Any) -> Any: ...
def linear_call(fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: ArrayLike, linear_args: ArrayLike) -> Array: ...
def zero_from_primal(val: Any, symbolic_zeros: bool = ...) -> Any: ...
