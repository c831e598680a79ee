"""Arithmetic of arrays and tracers: the operators of Python, with NumPy's promotion and broadcasting in
front of the primitives.

``give_to`` puts these methods on ``Array`` and ``Tracer`` when ``rabbet`` is composed. Methods that are
more than one operation (``x.sum()``) are functions of the package that announces them, an object under the
name ``Array.methods``, looked up when one is first used.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

from rabbet import dtypes
from rabbet.errors import AxisError, MissingPluginError
from rabbet.lax import creation, refusals, shapes, values
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer, DTypeLike
from rabbet.lax.comparison_operands import comparable
from rabbet.lax.division import divmod_, floor_divide, remainder, true_divide
from rabbet.lax.indexing import reads
from rabbet.lax.indexing.updates import Indexer
from rabbet.lax.powers import power
from rabbet.lax.promotion import beside, broadcast_operands, is_array_like, promote_operands
from rabbet.messages import methods_elsewhere
from rabbet.messages.spelling import counted
from rabbet.messages.tracebacks import fold_traceback, folded, folds_itself
from rabbet.primitives import complex_parts, elementwise, logic, powers
from rabbet.program import python_scalars
from rabbet.runtime.arrays.array import Array, is_readable
from rabbet.runtime.fused import fused
from rabbet.runtime.transfer import device_put
from rabbet.trace.interpreter import typeof

# NumPy's meaning of an operator between booleans, where it is not the primitive's.
OF_BOOLEANS: dict[Any, Any] = {elementwise.add: logic.bitwise_or}
# Comparisons by order, and what they ask of real parts that differ.
STRICT: dict[Any, Any] = {logic.lt: logic.lt, logic.le: logic.lt, logic.gt: logic.gt, logic.ge: logic.gt}


SYMBOLS = {
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//", "__mod__": "%",
    "__pow__": "**", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=", "__eq__": "==",
    "__ne__": "!=", "__and__": "&", "__or__": "|", "__xor__": "^",
}  # fmt: skip


def binary(function: Callable, name: str, reflected: bool = False) -> Callable:
    """The method for ``x <op> y``: NumPy's promotion and broadcasting, then ``function``."""
    op = getattr(function, "_plain", function)
    of_booleans = OF_BOOLEANS.get(function, function)
    any_dtype = of_booleans is function
    ordered = function in STRICT
    bring = comparable if function in COMPARISONS.values() else beside
    plain = f"__{name[3:]}" if reflected else name
    shown = f"x {SYMBOLS[plain]} y" if plain in SYMBOLS else name

    @fused
    def together(x: ArrayLike, y: ArrayLike) -> Any:
        x, y = bring(x, y)
        aval = typeof(y if python_scalars.is_python_scalar(x) else x)
        if ordered and aval.kind == "c":
            return in_order(function, x, y)
        return function(x, y) if aval.arithmetic else of_booleans(x, y)

    def method(self: Any, other: ArrayLike) -> Any:
        try:
            aval = self.aval
            alike = (type(other) is type(self) and other.aval is aval) or type(other) in aval.adopting
            if alike and (any_dtype or aval.arithmetic) and not (ordered and aval.kind == "c"):
                return op(other, self) if reflected else op(self, other)
            if not is_array_like(other):
                return not_taken(name, other)
            return together(other, self) if reflected else together(self, other)
        except Exception as error:
            fold_traceback(error, shown)
            raise

    method.__name__ = method.__qualname__ = name
    return folds_itself(method)


def in_order(function: Callable, x: ArrayLike, y: ArrayLike) -> Any:
    """NumPy's order of complex numbers: by real parts, and by imaginary parts where those are equal."""

    def parts(z: Any) -> tuple[Any, Any]:
        if python_scalars.is_python_scalar(z):
            return complex(z).real, complex(z).imag
        return complex_parts.real(z), complex_parts.imag(z)

    (a, i), (b, j) = parts(x), parts(y)
    return logic.bitwise_or(STRICT[function](a, b), logic.bitwise_and(logic.eq(a, b), function(i, j)))


def not_taken(name: str, other: Any) -> Any:
    """What an operator answers to something that is no array; of two, Python asks the other one then. Whether
    an array equals a list is an error: Python's own answer would be a plain False.
    """
    if name in ("__eq__", "__ne__") and isinstance(other, (list, tuple, dict, set)):
        kind = type(other).__name__
        raise TypeError(
            f"an array is compared with a {kind}; make that an array first, as in rabbet.numpy.asarray(...)"
        )
    return NotImplemented


def absolute(self: Any) -> ArrayOrTracer:
    return self if dtypes.kind(typeof(self).dtype) in "bu" else powers.abs(self)


def positive(self: Any) -> ArrayOrTracer:
    return self


def shift_right(x: ArrayLike, y: ArrayLike) -> ArrayOrTracer:
    """``x >> y``: signed integers keep their sign."""
    x, y = promote_operands(x, y)
    signed = dtypes.kind(typeof(y if python_scalars.is_python_scalar(x) else x).dtype) == "i"
    return (logic.shift_right_arithmetic if signed else logic.shift_right_logical)(x, y)


def round_(self: Any, ndigits: int | None = None) -> ArrayOrTracer:
    """``round(x)`` is an integer, as it is of Python's numbers; ``round(x, 2)`` keeps the dtype."""
    rounded = library_function("round")(self, ndigits or 0)
    return rounded.astype(int) if ndigits is None and dtypes.kind(rounded.dtype) in "fiu" else rounded


# What each operator is. Those that promote by themselves take their operands as they come.
PLAIN: dict[str, Any] = {
    "add": elementwise.add, "sub": elementwise.sub, "mul": elementwise.mul, "and": logic.bitwise_and,
    "or": logic.bitwise_or, "xor": logic.bitwise_xor, "lshift": logic.shift_left,
}  # fmt: skip
PROMOTING: dict[str, Any] = {
    "truediv": true_divide, "floordiv": floor_divide, "mod": remainder, "pow": power, "divmod": divmod_,
    "rshift": shift_right,
}  # fmt: skip
COMPARISONS = {"eq": logic.eq, "ne": logic.ne, "lt": logic.lt, "le": logic.le, "gt": logic.gt, "ge": logic.ge}


def matmul(x: ArrayLike, y: ArrayLike) -> ArrayOrTracer:
    """``x @ y``."""
    return library_function("matmul")(x, y)


def promoting(function: Callable, name: str, reflected: bool = False) -> Callable:
    """The method for an operator whose function promotes by itself; called eagerly it is one program."""
    together = fused(function)

    def method(self: Any, other: ArrayLike, *rest: Any) -> Any:
        try:
            if not is_array_like(other):
                return NotImplemented
            if function is true_divide and float in self.aval.adopting:  # floats divide by one primitive
                aval = self.aval
                if (type(other) is type(self) and other.aval is aval) or type(other) in aval.adopting:
                    return elementwise.div(other, self) if reflected else elementwise.div(self, other)
            # A static int exponent chooses the program.
            of = function if function is power and type(other) is int else together
            return of(other, self) if reflected else of(self, other)
        except Exception as error:
            fold_traceback(error)
            raise

    method.__name__ = method.__qualname__ = name
    return folds_itself(method)


def library_function(name: str) -> Callable:
    """The function that the package with the methods of arrays has under a method's name."""
    return getattr(find_methods(), name)


def no_methods() -> NoReturn:
    """No methods: what ``find_methods`` is until ``rabbet`` is composed."""
    raise ImportError("rabbet has not been composed: import rabbet")


find_methods = no_methods


class Method:
    """A method that a package provides: ``x.sum(axis)`` is its function ``sum(x, axis)``. Found when first
    used.
    """

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name
        self.__qualname__ = f"Array.{name}"

    def __call__(self, array: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        return library_function(self.name)(array, *args, **kwargs)

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        try:
            function = library_function(self.name)
        except Exception as error:  # no package provides them
            fold_traceback(error)
            raise
        return (
            function.__get__(instance, owner)
            if hasattr(function, "__get__")
            else lambda *a, **k: function(instance, *a, **k)
        )

    def __repr__(self) -> str:
        return f"<array method {self.name}, found when it is first used>"


METHODS = (
    "__array_namespace__ all any argmax argmin argpartition argsort byteswap choose clip conj conjugate "
    "cumprod cumsum diagonal dot max mean min nonzero prod ptp ravel repeat round searchsorted sort squeeze "
    "std sum swapaxes take trace var view"
).split()


def astype(self: Any, dtype: DTypeLike, copy: bool = False, device: Any = None) -> ArrayOrTracer:
    """The array as another dtype, if asked for with memory of its own, or on another device. Complex to real
    drops the imaginary part; None is the dtype of Python floats, as in NumPy.
    """
    dtype = dtypes.scalar_dtype(float) if dtype is None else dtypes.canonicalize(dtype)
    out = values.convert_element_type(self, dtype)
    if copy and out is self and type(out) is Array:
        out = out.__deepcopy__({})
    return out if device is None else device_put(out, device)


def reshape(self: Any, *new_shape: Any, order: str = "C", out_sharding: Any = None) -> ArrayOrTracer:
    """The elements in row-major order in another shape, given as ints or one tuple; one dimension may be
    -1.
    """
    shape = new_shape[0] if len(new_shape) == 1 else new_shape
    return library_function("reshape")(self, shape, order=order, out_sharding=out_sharding)


def transpose(self: Any, *axes: Any) -> ArrayOrTracer:
    """The array with its dimensions permuted, reversed if no order is given."""
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    ndim = self.aval.ndim
    if order is None or (type(order) is tuple and not order):
        order = tuple(reversed(range(ndim)))
    return shapes.transpose(self, tuple([axis_of(a, ndim) for a in order]))


def axis_of(axis: Any, ndim: int) -> int:
    """A non-negative axis."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise AxisError(f"axis {axis} is out of range for an array of {counted(ndim, 'dimension')}")
    return axis % ndim


def matrix_transpose(self: Any) -> ArrayOrTracer:
    """The array with its last two dimensions swapped."""
    if self.aval.ndim < 2:
        raise ValueError(f"mT needs at least two dimensions, got {self.aval.str_short()}")
    return shapes.transpose(self, (*range(self.aval.ndim - 2), self.aval.ndim - 1, self.aval.ndim - 2))


def flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> ArrayOrTracer:
    """The elements in one dimension."""
    return library_function("ravel")(self, order=order, out_sharding=out_sharding)


def compress(
    self: Any, condition: ArrayLike, axis: int | None = None, *, out: Any = None, size: int | None = None,
    fill_value: Any = 0,
) -> ArrayOrTracer:  # fmt: skip
    """The elements, or the slices along ``axis``, for which a vector of booleans holds."""
    function = library_function("compress")
    return function(condition, self, axis, out=out, size=size, fill_value=fill_value)


def copy(self: Any) -> ArrayOrTracer:
    """A copy with memory of its own."""
    return library_function("copy")(self)


def flat(self: Any) -> ArrayOrTracer:
    """The elements in row-major order, as an array of one dimension."""
    return shapes.reshape(self, (self.aval.size,))


def real(self: Any) -> ArrayOrTracer:
    return complex_parts.real(self) if dtypes.kind(self.aval.dtype) == "c" else self


def imag(self: Any) -> ArrayOrTracer:
    return complex_parts.imag(self) if dtypes.kind(self.aval.dtype) == "c" else creation.full_like(self, 0)


def to_device(self: Any, device: Any, *, stream: Any = None) -> ArrayOrTracer:
    """The array on another device. ``stream`` is that of the array standard, and must be None."""
    if stream is not None:
        raise NotImplementedError(f"to_device: leave stream out, got {stream!r:.60}")
    return device_put(self, device)


def notebook_table(self: Any) -> str | None:
    """What notebooks show: type and device, and the values as a table; None where no package makes that."""
    try:
        table = library_function("notebook_table")
    except MissingPluginError:
        return None
    return table(self, is_readable(self))


# What arrays and tracers are made of, which users have no use for.
PARTS = frozenset({"raw", "spec", "deleted", "interpreter", "payload", "where"})
HIDDEN = PARTS | methods_elsewhere.INSTEAD.keys()


def listed(self: Any) -> list[str]:
    """What ``dir`` shows of an array: everything but its parts and private methods."""
    names = object.__dir__(self)
    return sorted([n for n in names if n not in HIDDEN and (not n.startswith("_") or n.endswith("__"))])


def give_to(array: Any, tracer: Any, methods: Callable, format_of: Callable) -> None:
    """Put the methods on both classes; ``methods()`` returns the object whose functions the others are, and
    ``format_of(x)`` says how an array lies.
    """
    global find_methods
    find_methods = methods
    for cls in (array, tracer):
        for name, function in PLAIN.items():
            setattr(cls, f"__{name}__", binary(function, f"__{name}__"))
            setattr(cls, f"__r{name}__", binary(function, f"__r{name}__", reflected=True))
        for name, function in {**PROMOTING, "matmul": matmul}.items():
            setattr(cls, f"__{name}__", promoting(function, f"__{name}__"))
            setattr(cls, f"__r{name}__", promoting(function, f"__r{name}__", reflected=True))
        for name, function in COMPARISONS.items():
            setattr(cls, f"__{name}__", binary(function, f"__{name}__"))
        cls.__neg__ = lambda self: elementwise.neg(self)
        cls.__invert__ = lambda self: logic.bitwise_not(self)
        cls.__pos__, cls.__abs__, cls.__round__ = positive, absolute, round_
        cls.astype, cls.reshape, cls.transpose, cls.flatten, cls.compress, cls.copy = (
            astype, reshape, transpose, flatten, compress, copy,
        )  # fmt: skip
        cls.T = property(folded(transpose), doc="The array with its dimensions reversed.")
        cls.mT = property(folded(matrix_transpose), doc="The array with its last two dimensions swapped.")
        cls.real = property(folded(real), doc="The real part.")
        cls.imag = property(folded(imag), doc="The imaginary part.")
        cls.flat = property(folded(flat), doc="The elements in one dimension.")
        cls.to_device = to_device
        for name in METHODS:
            setattr(cls, name, Method(name))
        cls.__dir__ = listed
        cls.__getitem__, cls.__setitem__, cls.__iter__ = reads.getitem, reads.setitem, reads.iterate
        cls.at = property(
            Indexer, doc="``x.at[index].set(value)`` and its like: changed copies. See ``IndexedArray``."
        )
    metaclass: Any = type(array)
    metaclass.__dir__ = lambda cls: [n for n in type.__dir__(cls) if n not in methods_elsewhere.INSTEAD]
    for name in methods_elsewhere.INSTEAD:
        setattr(array, name, methods_elsewhere.Absent("Array", name))  # tracers ask ``Interpreter.attribute``
    array._repr_html_ = notebook_table
    array.format = property(folded(format_of), doc="How the array lies in memory: its layout and sharding.")
    # With __eq__ and no hash, both are no collections.abc.Hashable: a tracer has no value to compare, and a
    # cache that kept it by its hash would keep it beyond its trace.
    array.__hash__ = tracer.__hash__ = None
    refusals.give_to(tracer)
    for cls in (array, tracer):
        for name, method in list(vars(cls).items()):
            if type(method) is FunctionType and not _is_own(name):
                setattr(cls, name, folded(method))


def _is_own(name: str) -> bool:
    """Whether a method of arrays is for Rabbet itself, which must not pay for a door on the way to it."""
    return name == "__init__" or (name.startswith("_") and not name.endswith("__"))


__all__ = ["broadcast_operands", "give_to", "promote_operands"]
