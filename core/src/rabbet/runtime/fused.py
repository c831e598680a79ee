"""``fused``: a library function of several primitives runs as one compiled program when it is called on
arrays.

Called under a transformation, it inlines its primitives, so that programs read as if the user had written
them. Called eagerly, it is compiled once per signature: the placements of its array arguments and the
values of all others.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import tree
from rabbet.config import config
from rabbet.dtypes.array_protocol import array_of
from rabbet.dtypes.table import DEFAULTS
from rabbet.messages import second_looks
from rabbet.messages.argument_names import argument_name
from rabbet.primitives.calls import call_op
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray
from rabbet.program.context import context
from rabbet.program.dimensions import SymbolicDimension
from rabbet.program.jaxpr import Equation, Jaxpr, consts_as_inputs
from rabbet.runtime.array_parts import bring_to
from rabbet.runtime.arrays import values
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.arrays.ownership import captured
from rabbet.runtime.compilation import program, program_shardings
from rabbet.runtime.evaluation import EVALUATION
from rabbet.runtime.execution import dispatch
from rabbet.runtime.housekeeping import on_clear_caches
from rabbet.runtime.platforms.device_groups import DeviceGroup
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.runtime.platforms.devices import Device
    from rabbet.typing import Value

# Of one function; a loop over f(x, i) would otherwise keep an entry for every i.
MOST_PROGRAMS = 1024
LEAF = tree.structure(0)


def fused(function: Any = None, *, static: Any = ()) -> Any:
    """Decorator: compile eager calls of a library function as one program per signature.

    Args:
      function: takes and returns pytrees of arrays.
      static: names of arguments whose values choose the program even if they are numbers (axes, shapes).
        Arguments that are neither arrays nor numbers (None, strings, dtypes, functions) are static by
        themselves.

    Example:
      >>> from rabbet.extend.functions import fused
      >>> @fused(static=("axis",))
      ... def center(x, axis=0):
      ...     return x - lax.reduce_sum(x, (axis,)) / x.shape[axis]
      >>> center(np.float32([1, 2, 6]))
      Array([-2., -1.,  3.], dtype=float32)
    """
    if function is None:
        return functools.partial(fused, static=static)
    # As inspect.signature would say, without its cost: this runs for every function of a library.
    code = inspect.unwrap(function).__code__
    by_position = frozenset(
        [i for i, name in enumerate(code.co_varnames[: code.co_argcount]) if name in static]
    )
    static = frozenset(static)
    programs, quick = {}, {}
    on_clear_caches(programs.clear)
    on_clear_caches(quick.clear)

    def slowly(args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
        try:
            found = quick.get(_quick_key(args, kwargs)) if kwargs else None
        except (TypeError, ValueError, AttributeError):  # an argument that cannot be part of a key
            found = None
        return first(args, kwargs) if found is None else found[-1](args)

    def of_others(args: tuple[Any, ...]) -> Any:
        found = quick.get(key) if (key := _hashable_key(args, {})) else None
        return first(args, {}) if found is None else found[-1](args)

    def first(args: Any, kwargs: Any) -> Any:
        args = [opened(a) for a in args]
        kwargs = {name: opened(a) for name, a in kwargs.items()}
        if config.disable_jit:
            return at_once(args, kwargs)
        found = _Signature(function, args, kwargs, by_position, static)
        try:
            run = programs.get(found.key)
        except TypeError:  # an unhashable static argument, such as an index list: nothing to remember it by
            return at_once(args, kwargs)
        if run is None:
            run = programs[found.key] = _compile(function, found)
        if context.interpreter is not EVALUATION:
            return run.observed(function, found)
        key = found.quick_key() if run.whole and len(quick) < MOST_PROGRAMS else None
        if key is not None:
            quick[key] = run.positional(found.fixed, all(type(a) is Array for a in args))
        return run(found.arrays)

    def at_once(args: Any, kwargs: Any) -> Any:
        """Operation by operation; values on the way may be what ``debug_nans`` looks for."""
        for name in kwargs:
            if name in static and isinstance(kwargs[name], (dict, set)):
                raise TypeError(
                    f"{function.__name__}: {name} is an option, which chooses what is computed; it "
                    f"can be no {type(kwargs[name]).__name__}, got {kwargs[name]!r:.60}"
                )
        try:
            return function(*args, **kwargs)
        except FloatingPointError as error:
            return second_looks.look_again(error, "", function, *args, **kwargs)

    def taken(i: int, x: Any) -> Any:
        return x.__jax_array__() if isinstance(x, SymbolicDimension) and i not in by_position else opened(x)

    def traced(*args: Any, **kwargs: Any) -> Any:
        if context.interpreter.parent is None and getattr(context.interpreter, "executes", False):
            return first(args, kwargs)
        for a in args:
            if type(a) not in PLAIN:
                return at_once([taken(i, x) for i, x in enumerate(args)], kwargs)
        return at_once(args, kwargs)

    call = dispatch.function(
        function, quick, config.values, EVALUATION, traced=traced, slowly=slowly, of_others=of_others
    )
    vars(call)["__wrapped__"] = function
    return call


PLAIN = frozenset((Array, Tracer, bool, int, float, complex, str, type(None)))
VALUES_OF_DICTS = frozenset((type({}.values()), type(OrderedDict().values())))


def opened(x: Any) -> Any:
    """An argument with the arrays that objects give by ``__jax_array__`` in their places, also in a list; the
    values of a dict as a list.
    """
    kind = type(x)
    if kind in PLAIN:
        return x
    if kind is list or kind is tuple:
        return kind([opened(v) for v in x]) if any(type(v) not in PLAIN for v in x) else x
    if kind in VALUES_OF_DICTS:
        return [opened(v) for v in x]
    if isinstance(x, (type, SymbolicDimension)) or not hasattr(x, "__jax_array__"):
        return x  # a dimension may stand for a shape
    return array_of(x)


class _Dynamic:
    """Marks the place of an array argument in a signature."""

    def __repr__(self) -> Any:
        return "*"


DYNAMIC = _Dynamic()


class _Signature:
    """An eager call taken apart: its array arguments, and a hashable description of everything else."""

    def __init__(self, function: Any, args: Any, kwargs: Any, by_position: Any, static: Any) -> None:
        self.args, self.kwargs = args, kwargs
        dynamic = [DYNAMIC if i not in by_position else None for i in range(len(args))]
        leaves = []
        self.frozen = []
        self.direct = 0
        for i, a in enumerate(args):
            self._take(a, dynamic[i] is None, leaves)
            self.direct += dynamic[i] is not None and (type(a) is Array or type(a) in _NUMBERS)
        before = len(leaves)
        self.names = sorted(kwargs)
        for name in self.names:
            self._take(kwargs[name], name in static, leaves)
        self.in_keywords = len(leaves) != before
        on_device = [x for x in leaves if type(x) is Array]
        self.device, self.committed = values.common_device(
            on_device, function, lambda i: self.name_of(on_device[i], function)
        )
        wide = any(_is_wide(x.aval.dtype) for x in on_device)
        self.arrays = [_array(x, self.device, wide) for x in leaves]
        self.moved = any(type(x) is Array and x is not a for x, a in zip(leaves, self.arrays, strict=True))
        # For the fast path: the arrays of numbers, None where the call brings an array itself.
        self.fixed = [None if type(x) is Array else a for x, a in zip(leaves, self.arrays, strict=True)]
        self.key = (
            "call", tuple([a.spec for a in self.arrays]), tuple(self.frozen), len(args), tuple(self.names),
            self.device, config.traced_key(),
        )  # fmt: skip

    def _take(self, value: Any, is_static: bool, leaves: list[Any]) -> None:
        """Freeze one argument: a static one by value, a pytree by its structure, its arrays put aside."""
        if is_static:
            self.frozen.append(("static", type(value), _hashable(value)))
            return
        parts, treedef = tree.flatten(value)
        kinds = []
        for x in parts:
            if isinstance(x, (Array, np.ndarray, np.generic)) or python_scalars.is_python_scalar(x):
                leaves.append(x)
                kinds.append(DYNAMIC)
            else:
                kinds.append(x)
        self.frozen.append((treedef, tuple(kinds)))

    def name_of(self, x: Any, function: Any) -> Any:
        """How a user would call an array among the arguments."""
        paths = tree.leaves_with_path((self.args, self.kwargs))
        return argument_name(function, next(path for path, leaf in paths if leaf is x))

    def rebuild(self, tracers: tuple[Value, ...]) -> Any:
        """The arguments with tracers in the places of arrays."""
        at = iter(tracers)
        out = []
        originals = [*self.args, *[self.kwargs[n] for n in self.names]]
        for frozen, original in zip(self.frozen, originals, strict=True):
            if frozen[0] == "static":
                out.append(original)
            else:
                treedef, kinds = frozen
                out.append(tree.unflatten(treedef, [next(at) if k is DYNAMIC else k for k in kinds]))
        n = len(self.args)
        return out[:n], dict(zip(self.names, out[n:], strict=True))

    def quick_key(self) -> Any:
        """The key by which the fast path finds the program: possible where every array or number is a
        positional argument of its own, and every array is where the program runs. Numbers are part of it, so
        that ``x * 2`` finds the array of the 2.
        """
        if self.in_keywords or self.moved or self.direct != len(self.arrays):
            return None
        return _hashable_key(self.args, self.kwargs)


def _quick_key(args: list[Any] | tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """Arrays by their placement, all else by value. Python finds 1.0 and True under 1, so numbers bring
    their type.
    """
    key = [a.spec if type(a) is Array else (type(a), str(a)) if type(a) in _NUMBERS else a for a in args]
    if kwargs:
        key.extend(kwargs.items())
        key.extend(map(type, kwargs.values()))
    key.append(config.traced_key())
    return tuple(key)


def _hashable_key(args: list[Any] | tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """The quick key of a call, or None if an argument cannot be part of a key."""
    try:
        key = _quick_key(args, kwargs)
        hash(key)
    except (TypeError, ValueError):
        return None
    return key


_NUMBERS = frozenset(python_scalars.PYTHON_SCALARS)


def _hashable(value: Any) -> Any:
    """A static argument as part of a signature, in which -0.0 is not 0.0 and True is not 1."""
    if type(value) in (list, tuple):
        return tuple([(type(v), _hashable(v)) for v in value])
    return str(value) if type(value) is float else value


def _is_wide(dtype: Any) -> bool:
    """Whether numbers and NumPy arrays beside an array of this dtype need 64 bits to keep their digits."""
    return dtype.kind in "iufc" and dtype.itemsize >= (16 if dtype.kind == "c" else 8)


def _array(x: Value, device: Device, wide: bool) -> Value:
    if type(x) is Array:
        return x if x.spec.device is device else values.copy_to_device(x, device, x.spec.committed)
    if wide and type(x) in (int, float, complex):
        return values.scalar_array(x, ShapedArray((), DEFAULTS[True][type(x)], True), device)
    if wide and isinstance(x, (np.ndarray, np.generic)):
        return values.host_array(x, ShapedArray(x.shape, x.dtype), device)
    return values.to_array(x, device, shared=True)


class _Compiled:
    """A compiled library call: from arrays to the function's own result."""

    def __init__(self, made: Any, committed: Any, consts: Any, treedef: Any) -> None:
        self.single = treedef == LEAF
        self.runner, self.consts, self.treedef = made.runner(committed, single=self.single), consts, treedef
        self.whole = not consts
        self.body: Any = None  # kept where it is observed

    def __call__(self, arrays: list[Value]) -> Any:
        out = self.runner([*self.consts, *arrays])
        return out if self.single else tree.unflatten(self.treedef, out)

    def observed(self, function: Callable[..., Any], found: _Signature) -> Any:
        """The call as one that runs a program, where a setting observes what is executed."""
        if self.body is None:
            made = _staged(function, found)[1]
            # Without lines: they are those of the first call.
            equations = [Equation(e.op, e.inputs, e.outputs) for e in made.equations]
            self.body = Jaxpr(made.invars, made.outvars, equations, (), made.effects, made.name)
        op = call_op(self.body, self.body.name)
        return context.interpreter.around(op, [*self.consts, *found.arrays], lambda: self(found.arrays))

    def positional(self, fixed: list[Value | None], only_arrays: bool) -> Any:
        """The fast path, ``(execute, handlers, spec, run)``. ``run`` takes the call's positional arguments as
        they are, statics among them ignored, numbers as the arrays that were made of them. Where there are
        arrays alone and one result, the caller can do the same by the others; else they are None.
        """
        if only_arrays and self.single:
            return dispatch.known(self.runner)
        if any(x is not None for x in fixed):

            def run_with_numbers(args: tuple[Value, ...]) -> Value:
                given = iter([a for a in args if type(a) is Array])
                return self([next(given) if x is None else x for x in fixed])

            return None, None, None, run_with_numbers
        return None, None, None, lambda args: self([a for a in args if type(a) is Array])


def _staged(function: Callable[..., Any], signature: Any) -> tuple[Any, Any, Any]:
    """What a call captures, its program with that as first inputs, and the structure of its result."""
    treedef = None

    def flat(*tracers: Value) -> list[Value]:
        nonlocal treedef
        args, kwargs = signature.rebuild(tracers)
        outs, treedef = tree.flatten(function(*args, **kwargs))
        return outs

    name = getattr(function, "__name__", "fused")
    closed = stage(flat, [typeof(a) for a in signature.arrays], name)
    return closed.consts, consts_as_inputs(closed), treedef


def _compile(function: Callable[..., Any], signature: Any) -> Any:
    held, body, treedef = _staged(function, signature)
    consts = [captured(values.to_array(c, signature.device)) for c in held]
    spread = None
    if type(signature.device) is DeviceGroup:
        consts = bring_to(consts, signature.device)
        arrays = [*consts, *signature.arrays]
        default = values.default_of(arrays, signature.device)
        spread = program_shardings.spread_of(arrays, signature.device, None, default)
    lowering = program.lower(body, signature.device.platform, body.name, spread=spread)
    made = program.compile(lowering, signature.device)
    return _Compiled(made, signature.committed, consts, treedef)
