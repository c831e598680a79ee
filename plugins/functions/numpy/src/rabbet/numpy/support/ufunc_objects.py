"""Functions with the methods of NumPy's universal functions: ``add.reduce``, ``maximum.accumulate``,
``subtract.outer``, ``multiply.at``; and ``frompyfunc``, which gives them to a function of yours.

A function here is a function: it is called without a detour, and the methods are attributes of it, which this
module, the last one of the package to be imported, gives to the functions that have them. ``isinstance(add,
ufunc)`` holds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import folded, is_python_scalar
from rabbet.extend.transform import typeof
from rabbet.numpy.creation.conversion import array
from rabbet.numpy.elementwise import arithmetic, logic, transcendental
from rabbet.numpy.indexing.taking import integer_indices
from rabbet.numpy.mapped.vectorizing import vectorize
from rabbet.numpy.reductions import cumulative, reducing
from rabbet.numpy.reductions.reducing import converted, keep_dims, spread_to
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import as_array, axes_of, axis_of, check, no_out

if TYPE_CHECKING:
    from rabbet.typing import DType, Value

NOTHING = object()


class UfuncType(type):
    """``isinstance(f, ufunc)`` holds for every function that has the methods."""

    def __instancecheck__(cls, x: Callable[..., Any]) -> bool:
        return isinstance(getattr(x, "ufunc", None), Methods) or type.__instancecheck__(cls, x)


class Methods:
    """What the methods of one universal function need: see ``frompyfunc``.

    Args:
      function: of arrays, elementwise.
      nin, nout: numbers of arguments and results.
      identity: what ``function(identity, x)`` leaves unchanged; None if there is nothing.
      shortcuts: ``reduce``, ``accumulate`` and ``at`` where there is something quicker than a loop.
    """

    def __init__(
        self, function: Any, name: Any, nin: Any, nout: Any, identity: Any = None, **shortcuts: Any
    ) -> None:
        self.function, self.name = function, name
        self.nin, self.nout, self.nargs, self.identity = nin, nout, nin, identity
        self.shortcuts = shortcuts

    def binary(self, method: str) -> None:
        """Refuse what is defined for functions of two arguments with one result alone."""
        if (self.nin, self.nout) != (2, 1):
            raise ValueError(
                f"{self.name}.{method} needs a function of two arguments with one result, this one has "
                f"{self.nin} and {self.nout}"
            )

    def dtype_of(self, *operands: Value) -> Any:
        """The dtype in which repeated application stays."""
        from rabbet.numpy.creation.new_arrays import zeros

        dtype = typeof(operands[0]).dtype
        others = [x if is_python_scalar(x) else zeros((), typeof(x).dtype) for x in operands[1:]]
        for _ in range(2):
            rest = others or [zeros((), dtype)] * (self.nin - 1)
            dtype = typeof(self.function(zeros((), dtype), *rest)).dtype
        return dtype

    # ------------------------------------------------------------------------------------------- methods
    def reduce(
        self,
        a: Value,
        axis: int | None = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Value:
        """The function applied from element to element along ``axis``, from the first to the last.

        Args:
          a: an array.
          axis: an int, a tuple of ints, or None for all.
          dtype: in which to compute.
          out: refused, as arrays do not change.
          keepdims: keep reduced dimensions with size 1.
          initial: what to begin with.
          where: booleans that broadcast with ``a``: which elements count. Needs an identity or ``initial``.

        Raises:
          ValueError: for no elements without an identity or ``initial``.
        """
        self.binary("reduce")
        no_out(f"{self.name}.reduce", out)
        check(f"{self.name}.reduce", a)
        if "reduce" in self.shortcuts:
            return self.shortcuts["reduce"](a, axis, dtype, keepdims, initial, where)
        a = as_array(a)
        a = converted(a, self.dtype_of(a) if dtype is None else dtypes.canonicalize(dtype))
        return self.looped(a, axis, keepdims, initial, where)

    def looped(self, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        """``reduce`` where nothing is quicker than a loop."""
        axes = axes_of(f"{self.name}.reduce", axis, a.ndim)
        start = self.identity if initial is None else initial
        if where is not None:
            if start is None:
                raise ValueError(f"{self.name}.reduce: where= needs initial=, as it has no identity")
            where = spread_to(where, a.shape)
        start = NOTHING if initial is None and where is None else start
        found = self.folded_over(a, axes, start, where)
        return keep_dims(found, tuple(sorted(axes))) if keepdims else found

    def folded_over(self, a: Any, axes: Any, start: Any, where: Any) -> Any:
        """One loop over all elements of the axes, in row-major order."""
        rest = [d for d in range(a.ndim) if d not in axes]
        order = (*sorted(axes), *rest)
        shape = tuple([a.shape[d] for d in rest])
        count = a.size // max(int(np.prod(shape)), 1) if a.size else int(np.prod([a.shape[d] for d in axes]))
        lines = lax.reshape(lax.transpose(a, order), (count, *shape))
        masks = None if where is None else lax.reshape(lax.transpose(where, order), (count, *shape))
        if start is NOTHING:
            if not count:
                if self.identity is None:
                    raise ValueError(f"{self.name}.reduce of no elements: it has no identity; give initial=")
                return lax.full(shape, self.identity, a.dtype)
            first, lines = lines[0], lines[1:]
        else:
            first = spread_to(converted(as_array(start), a.dtype), shape)

        def step(total: Value, item: tuple[Value | None, ...]) -> tuple[Value, None]:
            line, mask = item
            found = converted(self.function(total, line), a.dtype)
            return (found if mask is None else lax.select(mask, found, total)), None

        return lax.scan(step, first, (lines, masks))[0]

    def accumulate(self, a: np.ndarray, axis: int = 0, dtype: Any = None, out: Any = None) -> Value:
        """The results of ``reduce`` up to each element along ``axis``: an array of the shape of ``a``."""
        self.binary("accumulate")
        no_out(f"{self.name}.accumulate", out)
        check(f"{self.name}.accumulate", a)
        a = as_array(a)
        axis = axis_of(f"{self.name}.accumulate", axis, a.ndim)
        if "accumulate" in self.shortcuts:
            return self.shortcuts["accumulate"](a, axis, dtype)
        a = converted(a, self.dtype_of(a) if dtype is None else dtypes.canonicalize(dtype))
        if not a.shape[axis]:
            return a
        lines = moved(a, axis, 0)

        def step(total: Value, line: Value) -> tuple[Value, ...]:
            found = converted(self.function(total, line), a.dtype)
            return found, found

        rest = lax.scan(step, lines[0], lines[1:])[1]
        return moved(lax.concatenate([lines[:1], rest], 0), 0, axis)

    def reduceat(self, a: Value, indices: Value, axis: int = 0, dtype: Any = None, out: Any = None) -> Value:
        """``reduce`` of the slices between positions: of ``a[i:j]`` for each ``i`` and the next ``j`` in
        ``indices``, of all after the last one; ``a[i]`` itself where ``j`` is not after ``i``.

        Args:
          a: an array.
          indices: a vector of integers, which may be traced.
        """
        self.binary("reduceat")
        no_out(f"{self.name}.reduceat", out)
        check(f"{self.name}.reduceat", a)
        a, at = as_array(a), integer_indices(f"{self.name}.reduceat", indices)
        if at.ndim != 1:
            raise ValueError(f"{self.name}.reduceat: indices must be a vector, got {at.aval.str_short()}")
        axis = axis_of(f"{self.name}.reduceat", axis, a.ndim)
        if dtype is None:
            dtype = self.shortcuts["of"](a) if "of" in self.shortcuts else self.dtype_of(a)
        a = converted(a, dtypes.canonicalize(dtype))
        return moved(self.between(moved(a, axis, 0), at), 0, axis)

    def between(self, lines: Any, at: Any) -> Any:
        """One loop over the lines: each segment takes those that it holds."""
        n, k = lines.shape[0], at.shape[0]
        if not k:
            return lines[:0]
        at = lax.convert_element_type(at, "int32")
        ends = lax.concatenate([at[1:], lax.full((1,), n, np.int32)], 0)
        ends = lax.max(ends, lax.add(at, 1))
        shape = (k, *lines.shape[1:])

        def step(total: Value, item: tuple[Value, ...]) -> tuple[Value, None]:
            i, line = item
            line = spread_to(line, shape)
            begun = wide(lax.eq(at, i), shape)
            inside = wide(lax.bitwise_and(lax.gt(i, at), lax.lt(i, ends)), shape)
            found = converted(self.function(total, line), lines.dtype)
            return lax.select(begun, line, lax.select(inside, found, total)), None

        return lax.scan(step, lax.full(shape, 0, lines.dtype), (lax.iota("int32", n), lines))[0]

    def outer(self, A: np.ndarray, B: np.ndarray, /) -> Value:
        """The function of all pairs: an array of the shape of ``A`` followed by that of ``B``."""
        if self.nin != 2:
            raise ValueError(f"{self.name}.outer needs a function of two arguments, this one has {self.nin}")
        A, B = array_of(f"{self.name}.outer", A), array_of(f"{self.name}.outer", B)
        apart = lax.reshape(B, (*(1,) * A.ndim, *B.shape))  # of one rank, whatever numpy_rank_promotion says
        return self.function(lax.reshape(A, (*A.shape, *(1,) * B.ndim)), apart)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: Any = True) -> Any:
        """A copy of ``a`` with the function applied at ``indices``, as often as an element is named.

        Args:
          a: an array.
          indices: whatever can index ``a``.
          b: the second arguments, which broadcast to ``a[indices]``; none for a function of one.
          inplace: must be False: arrays do not change, the changed copy is returned.

        Raises:
          NotImplementedError: for ``inplace=True``, the default, as in NumPy.
        """
        if inplace:
            raise NotImplementedError(
                f"{self.name}.at: arrays do not change; pass inplace=False and use the array that is returned"
            )
        if self.nin not in (1, 2) or self.nout != 1 or (b is None) != (self.nin == 1):
            raise TypeError(f"{self.name}.at needs {self.nin} operands and one result")
        a, b = (array(x) if isinstance(x, (list, tuple, range)) else x for x in (a, b))
        check(f"{self.name}.at", a, *([] if b is None else [b]))
        operands = (a,) if b is None else (a, b)
        a = converted(as_array(a), self.dtype_of(*operands))
        if "at" in self.shortcuts and a.dtype != np.bool_:
            return getattr(a.at[indices], self.shortcuts["at"])(converted(as_array(b), a.dtype))
        places = lax.reshape(lax.iota("int32", a.size), a.shape)[indices]
        values = () if b is None else (lax.reshape(spread_to(b, places.shape), (places.size,)),)

        def step(flat: Value, item: tuple[Value, ...]) -> tuple[Value, None]:
            place, *rest = item
            return flat.at[place].set(converted(self.function(flat[place], *rest), a.dtype)), None

        flat = lax.reshape(a, (a.size,))
        return lax.reshape(lax.scan(step, flat, (lax.reshape(places, (places.size,)), *values))[0], a.shape)


METHODS = ("at", "accumulate", "outer", "reduce", "reduceat")
FACTS = ("nin", "nout", "nargs", "identity")


def moved(x: Value, source: int, destination: int) -> Value:
    """``x`` with one dimension moved."""
    order = [d for d in range(x.ndim) if d != source]
    order.insert(destination, source)
    return lax.transpose(x, tuple(order))


def wide(mask: Value, shape: tuple[int, ...]) -> Any:
    """A vector of booleans along the first dimension of a shape."""
    return lax.broadcast_in_dim(mask, shape, (0,))


class ufunc(metaclass=UfuncType):
    """A function of elements, applied to arrays of any shape that broadcast; see ``frompyfunc``.

    Attributes:
      nin, nout: numbers of arguments and results; nargs: of arguments that can be given.
      identity: what leaves the other argument unchanged, or None.

    Example:
      >>> rnp.add.reduce(rnp.arange(4)), rnp.multiply.outer(rnp.arange(2), rnp.arange(3)).shape
      (Array(6, dtype=int32), (2, 3))
    """

    nin: int
    nout: int
    nargs: int
    identity: Any

    def __init__(
        self, func: Any, /, nin: Any, nout: Any, *, name: Any = None, nargs: Any = None, identity: Any = None
    ) -> None:
        self.__name__ = name or getattr(func, "__name__", "ufunc")
        about = f"{self.__name__}: a function of {nin} elements, applied to arrays."
        self.__doc__ = f"{about} {func.__doc__ or ''}"
        self.__wrapped__ = func
        self.ufunc = Methods(vectorize(func), self.__name__, nin, nout, identity)
        for fact in FACTS:
            setattr(self, fact, getattr(self.ufunc, fact))
        for method in METHODS:
            setattr(self, method, folded(getattr(self.ufunc, method)))

    @folded
    def __call__(self, *args: Any, out: Any = None, where: Any = None) -> tuple[Value, ...] | Value:
        no_out(self.__name__, out)
        if where is not None:
            raise NotImplementedError(f"{self.__name__}: where= is not supported; use rabbet.numpy.where")
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} arguments, got {len(args)}")
        return self.ufunc.function(*args)

    def __repr__(self) -> Any:
        return f"<rabbet.numpy.ufunc {self.__name__!r}>"

    def __hash__(self) -> Any:
        return hash((self.__wrapped__, self.nin, self.nout, self.identity))

    def __eq__(self, other: Any) -> Any:
        return (
            type(other) is ufunc
            and (self.__wrapped__, self.nin, self.nout) == (other.__wrapped__, other.nin, other.nout)
            and self.identity == other.identity
        )


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Value | None = None) -> ufunc:
    """A function of single elements as a ``ufunc``: it broadcasts, and has ``reduce``, ``accumulate``,
    ``reduceat``, ``outer`` and ``at``.

    Args:
      func: takes ``nin`` arrays without dimensions and returns ``nout``.
      nin, nout: ints.
      identity: what ``func(identity, x)`` leaves unchanged, for reductions of no elements.

    Raises:
      TypeError: if ``func`` is not a function. ValueError: for numbers that are negative.

    Example:
      >>> digits = frompyfunc(lambda a, b: 10 * a + b, 2, 1)
      >>> int(digits.reduce(array([1, 2, 3])))
      123
    """
    nin, nout = operator.index(nin), operator.index(nout)
    if not callable(func):
        raise TypeError(f"frompyfunc takes a function, got {func!r}")
    if nin < 0 or nout < 0:
        raise ShapeError(f"frompyfunc: the numbers of arguments must not be negative, got {nin} and {nout}")
    return ufunc(func, nin, nout, identity=identity)


# -------------------------------------------------------------------------------------- NumPy's functions
def by_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """``reduce`` by a function of this package that takes a dtype."""
    return lambda a, axis, dtype, keepdims, initial, where: function(
        a, axis, dtype, keepdims=keepdims, initial=initial, where=where
    )


def extreme_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """``reduce`` by ``max`` or ``min``."""

    def reduce(a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Any:
        a = as_array(a) if dtype is None else converted(as_array(a), dtypes.canonicalize(dtype))
        return function(a, axis, keepdims=keepdims, initial=initial, where=where)

    return reduce


def truth_of(function: Callable[..., Any], combine: Callable[..., Any]) -> Callable[..., Any]:
    """``reduce`` by ``all`` or ``any``."""

    def reduce(a: np.ndarray, axis: int, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Value:
        out = function(a, axis, keepdims=keepdims, where=where)
        out = out if initial is None else combine(out, as_array(initial))
        return out if dtype is None else converted(out, dtypes.canonicalize(dtype))

    return reduce


def log_of_sum(power: Callable[..., Any], logarithm: Callable[..., Any], combine: Any) -> Callable[..., Any]:
    """``reduce`` by the sum of all powers beside the largest one, in place of a loop over the elements."""

    def reduce(a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Any:
        a = as_array(a)
        wide = combine.ufunc.dtype_of(a) if dtype is None else dtypes.canonicalize(dtype)
        a = converted(a, wide)
        if dtypes.kind(a.dtype) == "c":  # of which none is the largest
            return combine.ufunc.looped(a, axis, keepdims, initial, where)
        options = {"keepdims": True, "where": where}
        top = lax.stop_gradient(reducing.max(a, axis, initial=-np.inf, **options))
        top = lax.select(lax.is_finite(top), top, lax.full_like(top, 0))
        beside = lax.sub(a, lax.broadcast_in_dim(top, a.shape, tuple(range(a.ndim))))
        total = reducing.sum(power(beside), axis, **options)
        nothing = lax.eq(total, 0.0)  # whose derivative is 0
        found = lax.add(logarithm(lax.select(nothing, lax.full_like(total, 1), total)), top)
        found = lax.select(nothing, lax.full_like(found, -np.inf), found)
        if initial is not None:
            found = combine(found, as_array(initial))
        axes = axes_of(f"{combine.__name__}.reduce", axis, a.ndim)
        return converted(found if keepdims else lax.squeeze(found, tuple(sorted(axes))), a.dtype)

    return reduce


def sums(function: Callable[..., Any]) -> Callable[..., Any]:
    """``accumulate`` by ``cumsum`` or ``cumprod``."""
    return lambda a, axis, dtype: function(a, axis, dtype)


def running(name: Any) -> Any:
    """``accumulate`` by a function of lax, by its name: the package that has it is not loaded yet."""
    return lambda a, axis, dtype: getattr(lax, name)(
        converted(a, a.dtype if dtype is None else dtypes.canonicalize(dtype)), axis
    )


def counted(a: Value) -> DType:
    """The dtype in which booleans are added up."""
    return dtypes.scalar_dtype(int) if a.dtype == np.bool_ else a.dtype


def give(function: Any, nin: Any = 2, identity: Any = None, **shortcuts: Any) -> None:
    """Hang the methods on one function."""
    methods = function.ufunc = Methods(function, function.__name__, nin, 1, identity, **shortcuts)
    for fact in FACTS:
        setattr(function, fact, getattr(methods, fact))
    for method in METHODS:
        setattr(function, method, folded(getattr(methods, method)))


def give_all() -> None:
    """Hang the methods on the functions that have them."""
    give(
        arithmetic.add, identity=0, reduce=by_function(reducing.sum), at="add",
        accumulate=sums(cumulative.cumsum), of=counted,
    )  # fmt: skip
    give(
        arithmetic.multiply, identity=1, reduce=by_function(reducing.prod), at="multiply",
        accumulate=sums(cumulative.cumprod), of=counted,
    )  # fmt: skip
    give(arithmetic.subtract, at="subtract")
    give(arithmetic.negative, nin=1)
    give(arithmetic.maximum, reduce=extreme_of(reducing.max), at="max", accumulate=running("cummax"))
    give(arithmetic.minimum, reduce=extreme_of(reducing.min), at="min", accumulate=running("cummin"))
    give(logic.logical_and, identity=True, reduce=truth_of(reducing.all, logic.logical_and))
    give(logic.logical_or, identity=False, reduce=truth_of(reducing.any, logic.logical_or))
    give(logic.logical_xor, identity=False)
    give(logic.bitwise_and, identity=-1)
    give(logic.bitwise_or, identity=0)
    give(logic.bitwise_xor, identity=0)
    for function, power, logarithm in (
        (transcendental.logaddexp, transcendental.exp, transcendental.log),
        (transcendental.logaddexp2, transcendental.exp2, transcendental.log2),
    ):
        give(function, identity=-np.inf, reduce=log_of_sum(power, logarithm, function))


give_all()

__all__ = ["frompyfunc", "ufunc"]
