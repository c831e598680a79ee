# Written by tools/write/stubs.py, of the functions and of stub_types.toml beside it: do not edit.
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rabbet import Array, ArrayLike, Device, DTypeLike

F = TypeVar("F", bound=Callable[..., Any])


class Batched:
    """A value with one batch dimension at ``axis``, or none where ``axis`` is None: the payload of vmap."""
    def __init__(self, value: Any, axis: Any) -> None: ...
    value: Any
    axis: Any

class Dual(NamedTuple):
    """A value and its tangent (``Zero`` where it has none): the payload of forward mode."""
    primal: Any
    tangent: Any

class Effect(NamedTuple):
    """One kind of effect."""
    name: Any
    ordered: Any = ...
    observes: Any = ...

class Linear:
    """Stands for a linear operand while its equation is transposed; only its aval is known."""
    def __init__(self, aval: Any) -> None: ...
    aval: Any
    @property
    def dtype(self) -> Any: ...
    @property
    def ndim(self) -> Any: ...
    @property
    def shape(self) -> Any: ...

class Op:
    """A primitive with its parameters. Calling it speaks to the current interpreter."""
    def __init__(self, primitive: Any, params: Any) -> None: ...
    primitive: Primitive
    params: Any
    programs: Any
    executables: Any
    has_numbers: Any
    def known_count(self, operands: Any) -> Any: ...
    def out(self, avals: Any) -> Any: ...
    def outs(self, avals: Any) -> Any: ...
    def replaced(self, **params: Any) -> Any: ...
    def __call__(self, *args: Any) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...

class Primitive:
    """One operation, whose meaning each transformation gives by a rule."""
    def __init__(self, name: str, abstract: Any, *, kinds: Any = ..., multiple_results: Any = ..., doc: str = ..., adopt: Any = ..., effects: Any = ..., operands: Any = ..., is_call: Any = ..., decider: Any = ..., axis: Any = ..., endless: Any = ..., place: Any = ..., binds: Any = ..., indices: Any = ..., parameters: Any = ...) -> None: ...
    indices: Any
    name: Any
    kinds: Any
    effects: Any
    special: Any
    multiple_results: Any
    abstract: Any
    adopt: Any
    operands: Any
    rules: Any
    decomposition: Any
    where: Any
    is_call: Any
    decider: Any
    axis: Any
    endless: Any
    place: Any
    binds: Any
    call_primitive: Any
    def decompose(self, function: F) -> F: ...
    def effects_of(self, params: Any) -> Any: ...
    def forget(self) -> Any: ...
    def forget_placements(self) -> Any: ...
    map_primitive: Any
    def op(self, **params: Any) -> Op: ...
    def open_programs(self, args: Any, params: Any) -> Any: ...
    @property
    def parameters(self) -> Any: ...
    def rule(self, table: Any) -> Callable[[F], F]: ...
    def __call__(self, *args: Any, **params: Any) -> Any: ...

class ShapedArray:
    """The shape and dtype of an array, and whether its dtype came from a bare Python scalar."""
    def __init__(self, shape: Any, dtype: Any, weak_type: Any = ..., spread: Any = ..., *, sharding: Any = ...) -> None: ...
    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    ndim: int
    size: int
    kind: str
    adopting: Any
    arithmetic: bool
    is_extended: bool
    codes: Any
    is_stored: bool
    is_symbolic: bool
    spread: Any
    _mlir: Any
    _scalar: Any
    @property
    def bare(self) -> Any: ...
    @property
    def cotangent(self) -> Any: ...
    @property
    def itemsize(self) -> Any: ...
    @property
    def mat(self) -> Any: ...
    @property
    def memory(self) -> Any: ...
    @property
    def mlir(self) -> str: ...
    @property
    def nbytes(self) -> Any: ...
    @property
    def physical(self) -> Any: ...
    @property
    def scalar(self) -> Any: ...
    @property
    def sharding(self) -> Any: ...
    def stands_for(self, other: Any) -> Any: ...
    def str_short(self) -> str: ...
    def strip_weak_type(self) -> Any: ...
    def strong(self) -> ShapedArray: ...
    def to_tangent_aval(self) -> Any: ...
    def update(self, **changes: Any) -> ShapedArray: ...
    @property
    def vma(self) -> Any: ...
    def without(self, axis: Any) -> Any: ...
    def __len__(self) -> Any: ...

class Zero:
    """A tangent or cotangent known to be zero, of the given aval. It has no leaves."""
    def __init__(self, aval: Any) -> None: ...
    aval: Any
def accept(name: str, kinds: Any, *avals: Any) -> None: ...
def add_tangents(a: Any, b: Any) -> Any: ...
def call_op(jaxpr: Any, name: str, inline: Any = ...) -> Any: ...
def canonical_precision(precision: Any) -> Any: ...
def column_major(ndim: Any) -> Any: ...
def effect_names(effects: Any) -> Any: ...
def elementwise_aval(name: str, *avals: Any) -> ShapedArray: ...
def full_of_type(aval: Any, value: Any) -> Any: ...
def instantiate(t: Any) -> Any: ...
def move_axis(x: Any, source: Any, destination: Any) -> Any: ...
def new_axis(x: Any, axis: Any, size: Any) -> Any: ...
def no_tangent(op: Any, *duals: Any) -> Any: ...
def operand_avals(op: Any, args: Any, type_of: Any) -> Any: ...
def row_major(ndim: Any) -> Any: ...
def tangent_aval(aval: Any) -> Any: ...
def write_python_call(op: Any, function: Callable[..., Any], names: Any, effect: Any = ..., device: Any = ..., partitioned: Any = ...) -> Any: ...
def zero_tangent(aval: Any) -> Any: ...
abs: Primitive
acos: Primitive
acosh: Primitive
add: Primitive
argmax: Primitive
argmin: Primitive
asin: Primitive
asinh: Primitive
atan: Primitive
atan2: Primitive
atanh: Primitive
bitcast_convert_type: Primitive
bitwise_and: Primitive
bitwise_not: Primitive
bitwise_or: Primitive
bitwise_xor: Primitive
broadcast_in_dim: Primitive
cbrt: Primitive
ceil: Primitive
clamp: Primitive
clz: Primitive
complex: Primitive
concatenate: Primitive
cond: Primitive
conj: Primitive
convert_element_type: Primitive
cos: Primitive
cosh: Primitive
div: Primitive
dot_general: Primitive
dynamic_slice: Primitive
dynamic_update_slice: Primitive
eq: Primitive
erf: Primitive
erf_inv: Primitive
erfc: Primitive
exp: Primitive
exp2: Primitive
expand_dims: Primitive
expm1: Primitive
floor: Primitive
from_physical: Primitive
gather: Primitive
ge: Primitive
gt: Primitive
imag: Primitive
integer_pow: Primitive
iota: Primitive
is_finite: Primitive
jit: Primitive
keep_apart: Primitive
le: Primitive
lies_in_memory: Primitive
log: Primitive
log1p: Primitive
logistic: Primitive
lt: Primitive
max: Primitive
min: Primitive
mul: Primitive
mulhi: Primitive
ne: Primitive
neg: Primitive
nextafter: Primitive
optimization_barrier: Primitive
pad: Primitive
platform_index: Primitive
population_count: Primitive
pow: Primitive
real: Primitive
reduce_and: Primitive
reduce_max: Primitive
reduce_min: Primitive
reduce_or: Primitive
reduce_precision: Primitive
reduce_prod: Primitive
reduce_sum: Primitive
reduce_xor: Primitive
rem: Primitive
reshape: Primitive
rev: Primitive
round_away: Primitive
round_even: Primitive
rsqrt: Primitive
scan: Primitive
scatter: Primitive
scatter_add: Primitive
scatter_max: Primitive
scatter_min: Primitive
scatter_mul: Primitive
scatter_sub: Primitive
select_n: Primitive
shift_left: Primitive
shift_right_arithmetic: Primitive
shift_right_logical: Primitive
sign: Primitive
sin: Primitive
sinh: Primitive
slice: Primitive
sqrt: Primitive
square: Primitive
squeeze: Primitive
stop_gradient: Primitive
sub: Primitive
tan: Primitive
tanh: Primitive
to_memory: Primitive
to_physical: Primitive
transpose: Primitive
while_: Primitive
